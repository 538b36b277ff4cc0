"""collector.py PORT FILE: takes log records over OTLP, with OpenTelemetry's own types, and appends the id of each to FILE."""
import http.server
import sys

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = ExportLogsServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
        scopes = [scope for resource in request.resource_logs for scope in resource.scope_logs]
        records = [record for scope in scopes for record in scope.log_records]
        ids = [it.value.string_value for record in records for it in record.attributes if it.key == "log.record.uid"]
        with open(sys.argv[2], "a") as file:
            file.writelines(f"{it}\n" for it in ids)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Collector).serve_forever()
