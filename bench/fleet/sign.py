"""sign.py REGISTRY NAME DIGEST KEY: signs an artifact as cosign does, with openssl, and pushes the signature."""
import base64
import hashlib
import json
import subprocess
import sys
import urllib.request

registry, name, digest, key = sys.argv[1:]
place = f"http://{registry}/v2/{name}"


def send(method, address, data=b"", kind="application/octet-stream"):
    return urllib.request.urlopen(urllib.request.Request(address, data, {"Content-Type": kind}, method=method))


def blob(kind, data):
    """Pushes a blob, and returns its entry in a manifest."""
    of_data = f"sha256:{hashlib.sha256(data).hexdigest()}"
    upload = send("POST", f"{place}/blobs/uploads/").headers["Location"]
    send("PUT", f"{upload}{'&' if '?' in upload else '?'}digest={of_data}", data)
    return {"mediaType": kind, "digest": of_data, "size": len(data)}


critical = {
    "identity": {"docker-reference": f"{registry}/{name}"},
    "image": {"docker-manifest-digest": digest},
    "type": "cosign container image signature",
}
payload = json.dumps({"critical": critical, "optional": None}).encode()
command = ["openssl", "dgst", "-sha256", "-sign", key]
signature = subprocess.run(command, input=payload, stdout=subprocess.PIPE, check=True).stdout
layer = blob("application/vnd.dev.cosign.simplesigning.v1+json", payload)
kind = "application/vnd.oci.image.manifest.v1+json"
manifest = {
    "schemaVersion": 2,
    "mediaType": kind,
    "config": blob("application/vnd.oci.image.config.v1+json", b"{}"),
    "layers": [{**layer, "annotations": {"dev.cosignproject.cosign/signature": base64.b64encode(signature).decode()}}],
}
send("PUT", f"{place}/manifests/{digest.replace(':', '-')}.sig", json.dumps(manifest).encode(), kind)
