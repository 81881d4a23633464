/**
 * A configuration file of an MCP client as data: JSON with comments, or TOML.
 *
 * 1. Objects have no prototype, so a key such as `__proto__` is only a key.
 * 2. Errors name the file, the line and the key. They never show a value, because values hold secrets.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Node, ParseError } from 'jsonc-parser';
import { findNodeAtLocation, getNodeValue, parseTree, printParseErrorCode } from 'jsonc-parser';
import { parse as parseToml, TomlError } from 'smol-toml';
import { QuittanceError } from 'quittance/internal/base/error';
import { safeId } from 'quittance/internal/base/safe-id';
import { safeText } from 'quittance/internal/base/safe-text';

export type ConfigPath = readonly (string | number)[];

export type ConfigDocument = {
  readonly file: string;
  readonly format: 'json' | 'toml';
  /** With a byte order mark, if the file has one. */
  readonly text: string;
  readonly root: ConfigTable;
  /** The syntax tree of JSON. */
  readonly tree: Node | undefined;
  /** The error for a place in the file. `remedy` says what to do. */
  readonly problem: (path: ConfigPath, found: string, remedy: string) => QuittanceError<'config.invalid'>;
};

export type ConfigTable = { readonly [key: string]: unknown };

/** `~/.claude.json` holds much besides servers, so it can be large. */
const mostBytes = 16 * 1024 * 1024;

export const isTable = (value: unknown): value is ConfigTable =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

export async function readConfigDocument(file: string): Promise<ConfigDocument> {
  return parseConfigDocument(file, await readConfigText(file));
}

/** The exact text of a configuration file. Refuses what is too large, no plain file, or not UTF-8. */
export async function readConfigText(file: string): Promise<string> {
  let handle;
  try {
    // A pipe without a writer must not block.
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code = 'error' } = error as NodeJS.ErrnoException;
    throw invalid(
      code === 'ENOENT'
        ? `There is no file ${safeText(file)}. Check the path.`
        : `${safeText(file)} cannot be opened (${code}). Check its permissions.`,
    );
  }
  try {
    const { size } = await handle.stat().then((found) => {
      if (!found.isFile())
        throw invalid(`${safeText(file)} is not a regular file. Name a configuration file.`);
      return found;
    });
    if (size > mostBytes)
      throw invalid(`${safeText(file)} has ${size} bytes. A configuration may have up to ${mostBytes}.`);
    const buffer = Buffer.alloc(size + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) break;
    }
    if (length !== size) throw invalid(`${safeText(file)} changed while it was read. Try again.`);
    const text = decode(buffer.subarray(0, length));
    if (text === undefined || text.includes('\0'))
      throw invalid(`${safeText(file)} is not UTF-8 text. Save it as UTF-8.`);
    return text;
  } finally {
    await handle.close();
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

export function parseConfigDocument(file: string, text: string): ConfigDocument {
  return /\.toml$/i.test(file) ? parseTomlConfig(file, text) : parseJsonConfig(file, text);
}

function parseJsonConfig(file: string, text: string): ConfigDocument {
  const errors: ParseError[] = [];
  const place = (offset: number): string => `${safeText(file)}:${lineAt(text, offset)}`;
  const tree = withoutOverflow(file, () =>
    parseTree(text.startsWith('\uFEFF') ? ` ${text.slice(1)}` : text, errors, { allowTrailingComma: true }),
  );
  const [error] = errors;
  if (error !== undefined)
    throw invalid(
      `${place(error.offset)}: not valid JSON (${printParseErrorCode(error.error)}). Correct the file; comments and trailing commas are allowed.`,
    );
  const root: unknown = tree && withoutOverflow(file, () => getNodeValue(tree));
  if (tree === undefined || !isTable(root))
    throw invalid(`${place(0)}: expected a JSON object with "mcpServers" or "servers".`);
  return {
    file,
    format: 'json',
    text,
    root,
    tree,
    problem: (path, found, remedy) => {
      let node: Node | undefined;
      for (let length = path.length; node === undefined && length >= 0; length--)
        node = findNodeAtLocation(tree, path.slice(0, length));
      return invalid(`${place(node?.offset ?? 0)}: ${name(path)}${found} ${remedy}`);
    },
  };
}

function parseTomlConfig(file: string, text: string): ConfigDocument {
  let root: ConfigTable;
  try {
    root = withoutOverflow(file, () =>
      bare(parseToml(text.replace(/^\uFEFF/, ''), { unsafeKeyBehaviour: 'throw', maxDepth: 100 })),
    );
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The message of the parser quotes the file, which may hold secrets.
    throw invalid(`${safeText(file)}:${error.line}: not valid TOML. Correct the file.`);
  }
  return {
    file,
    format: 'toml',
    text,
    root,
    tree: undefined,
    problem: (path, found, remedy) =>
      invalid(`${safeText(file)}:${tomlLine(text, path)}: ${name(path)}${found} ${remedy}`),
  };
}

/** The parsed TOML with tables that have no prototype, as in JSON. */
function bare(table: ConfigTable): ConfigTable {
  const copy = (value: unknown): unknown =>
    Array.isArray(value) ? value.map(copy) : isTable(value) ? bare(value) : value;
  return Object.assign(
    Object.create(null) as object,
    Object.fromEntries(Object.entries(table).map(([key, value]) => [key, copy(value)])),
  );
}

function withoutOverflow<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError)
      throw invalid(`${safeText(file)} is nested too deeply. Correct the file.`);
    throw error;
  }
}

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** The line of the last key of the path that has one of its own, in the table of its server. */
function tomlLine(text: string, path: ConfigPath): number {
  const lines = text.split('\n');
  let found = 0;
  for (const [index, key] of path.entries()) {
    if (index === 0 && path.length > 1) continue;
    const written = `["']?${String(key).replace(/[^\w-]/g, '\\$&')}["']?`;
    const at = lines.findIndex(
      (line, at) =>
        at >= found &&
        new RegExp(`^\\s*(?:\\[.*\\.?${written}\\s*[\\].]|(?:.*\\.)?${written}\\s*[=.])`).test(line),
    );
    if (at === -1) break;
    found = at;
  }
  return found + 1;
}

const name = (path: ConfigPath): string =>
  path.length === 0 ? '' : `${path.map((key) => safeId(String(key))).join('.')} `;

export const invalid = (message: string): QuittanceError<'config.invalid'> =>
  new QuittanceError('config.invalid', message);
