/** The imports of the world `hook-plain`, as componentize-qjs provides them. It takes 64-bit integers as numbers. */

declare module "hookbox:hook/facts@0.2.0" {
  type Usage = "reads" | "writes" | "removes" | "moves";
  type File = { path: string; usage: Usage; isPattern: boolean; text?: string | null };
  export function readCall(): { lines: string[]; files: File[] };
}

declare module "wasi:config/store@0.2.0-rc.1" {
  export function getAll(): [string, string][];
}

declare module "wasi:logging/logging@0.1.0-draft" {
  export type Level = "trace" | "debug" | "info" | "warn" | "error" | "critical";
  export function log(level: Level, context: string, message: string): void;
}

declare module "wasi:keyvalue/store@0.2.0-draft" {
  export class Bucket {
    get(key: string): Uint8Array | null | undefined;
    set(key: string, value: Uint8Array): void;
    delete(key: string): void;
    listKeys(cursor: number | undefined): { keys: string[]; cursor?: number | bigint | null };
  }
  export function open(identifier: string): Bucket;
}

declare module "wasi:keyvalue/atomics@0.2.0-draft" {
  import type { Bucket } from "wasi:keyvalue/store@0.2.0-draft";
  export function increment(bucket: Bucket, key: string, delta: number): number | bigint;
}
