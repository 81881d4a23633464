/**
 * Runs inside the sandbox for the file tools: reads one request from its input and prints one answer, both as JSON. The
 * kernel decides what the path reaches. Links and `..` lead nowhere else than for a command. This file is shown alone
 * inside the sandbox, so it imports nothing of the package.
 */
import { closeSync, constants, fstatSync, ftruncateSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { readFileSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** What a file tool asks for. */
export type FileRequest =
  | { readonly operation: 'read'; readonly path: string; readonly mostBytes: number }
  | { readonly operation: 'write'; readonly path: string; readonly content: string }
  | {
      readonly operation: 'edit';
      readonly path: string;
      readonly oldText: string;
      readonly newText: string;
      readonly replaceAll: boolean;
      readonly mostBytes: number;
    }
  | { readonly operation: 'list'; readonly path: string; readonly mostEntries: number };

export type FileAnswer =
  | { readonly ok: true; readonly output: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly error: string };

function answer(request: FileRequest): Readonly<Record<string, unknown>> {
  const { path } = request;
  switch (request.operation) {
    case 'read': {
      const { bytes, size } = readBytes(path, request.mostBytes);
      return { path, content: decode(bytes, path), bytes: size, truncated: size > bytes.length };
    }
    case 'write': {
      mkdirSync(dirname(path), { recursive: true });
      return { path, bytes: writeText(path, request.content, constants.O_CREAT) };
    }
    case 'edit': {
      const { bytes, size } = readBytes(path, request.mostBytes);
      if (size > bytes.length) throw new Error(`${path} has ${size} bytes, which is too much to edit.`);
      const parts = decode(bytes, path).split(request.oldText);
      const found = parts.length - 1;
      if (found === 0) throw new Error(`The text to replace is not in ${path}.`);
      if (found > 1 && !request.replaceAll)
        throw new Error(
          `The text to replace is ${found} times in ${path}. Give more of it, or set replace_all.`,
        );
      return { path, bytes: writeText(path, parts.join(request.newText), 0), replaced: found };
    }
    case 'list': {
      const found = readdirSync(path, { withFileTypes: true });
      const entries = found.slice(0, request.mostEntries).map((entry) => ({
        name: entry.name,
        type: entry.isDirectory()
          ? 'folder'
          : entry.isSymbolicLink()
            ? 'link'
            : entry.isFile()
              ? 'file'
              : 'other',
      }));
      return { path, entries, truncated: found.length > entries.length };
    }
  }
}

/** Opens without waiting: a pipe without a writer would block for ever. */
function withFile<Result>(path: string, flags: number, use: (descriptor: number) => Result): Result {
  const descriptor = openSync(path, flags | constants.O_NONBLOCK, 0o666);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error(`${path} is not a regular file.`);
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const readBytes = (path: string, most: number): { readonly bytes: Buffer; readonly size: number } =>
  withFile(path, constants.O_RDONLY, (descriptor) => {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(Math.min(size, most));
    let at = 0;
    while (at < bytes.length) {
      const read = readSync(descriptor, bytes, at, bytes.length - at, at);
      if (read === 0) break;
      at += read;
    }
    return { bytes: bytes.subarray(0, at), size };
  });

const writeText = (path: string, text: string, flags: number): number =>
  withFile(path, constants.O_WRONLY | flags, (descriptor) => {
    const bytes = Buffer.from(text);
    ftruncateSync(descriptor, 0);
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
    return bytes.length;
  });

/** The end of a cut text may be half a letter. */
function decode(bytes: Buffer, path: string): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
  if (text.includes('\0')) throw new Error(`${path} is not a text file.`);
  return text;
}

function answerAll(text: string): FileAnswer {
  try {
    // The host is the only writer of this program's input.
    return { ok: true, output: answer(JSON.parse(text) as FileRequest) };
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) };
  }
}

process.stdout.write(JSON.stringify(answerAll(readFileSync(0, 'utf8'))));
