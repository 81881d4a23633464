/** The server behind the arguments of `quittance mcp wrap`. */
import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { QuittanceError } from 'quittance/internal/base/error';
import type { HttpAddress, ServerAddress } from '@quittance/server/internal/mcp-reviews/server-entry';
import { findServerUrlProblem } from './server-url.ts';
import type { WrapTarget } from './wrap-arguments.ts';

export type WrappedServerContext = {
  readonly variable: (name: string) => string | undefined;
  /** Replaces variables that the client would have replaced. */
  readonly expand: (text: string) => string;
  /** The absolute path of a file that the configuration names. */
  readonly resolve: (file: string) => string;
  readonly allowHttp: readonly string[];
  readonly problem: (found: string, remedy: string) => QuittanceError<'config.invalid'>;
};

const mostEnvFileBytes = 1024 * 1024;

export function readWrappedServer(target: WrapTarget, context: WrappedServerContext): ServerAddress {
  const { variable, expand, problem } = context;
  if (target.type === 'stdio') {
    const env = Object.create(null) as Record<string, string>;
    if (target.envFile !== undefined) Object.assign(env, readEnvFile(expand(target.envFile), context));
    for (const name of target.env) {
      const value = variable(name);
      if (value !== undefined) env[name] = value;
    }
    return { type: 'stdio', command: expand(target.command), args: target.args.map(expand), env };
  }
  const need = (name: string): string => {
    const value = variable(name);
    if (value !== undefined) return value;
    throw problem(`needs the environment variable ${name}, which is not set.`, `Set ${name}.`);
  };
  const headers = target.headers.map(([header, name]) => [header, need(name)] as const);
  if (target.bearerVariable !== undefined)
    headers.push(['Authorization', `Bearer ${need(target.bearerVariable)}`]);
  const url = 'text' in target.url ? expand(target.url.text) : need(target.url.variable);
  return toHttpAddress(target.type, url, headers, context);
}

export function toHttpAddress(
  type: 'http' | 'sse',
  text: string,
  headers: readonly (readonly [string, string])[],
  { problem, allowHttp }: Pick<WrappedServerContext, 'problem' | 'allowHttp'>,
): HttpAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const why = url === undefined ? 'is not a URL' : findServerUrlProblem(url, { allowHttp });
  if (url === undefined || why !== undefined)
    throw problem(`${why}.`, 'Write a URL such as https://example.com/mcp.');
  const named = Object.create(null) as Record<string, string>;
  for (const [header, value] of headers) {
    if (!/^[!#$%&'*+.^`|~\w-]+$/.test(header) || !/^[\t\x20-\x7E\x80-\xFF]*$/.test(value))
      throw problem('has a header that HTTP does not allow.', 'Correct the header.');
    named[header] = value;
  }
  return { type, url, headers: named };
}

/** The variables in a file such as `.env`. */
export function readEnvFile(
  file: string,
  { resolve, problem }: Pick<WrappedServerContext, 'resolve' | 'problem'>,
): Readonly<Record<string, string>> {
  const path = resolve(file);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() !== true || found.size > mostEnvFileBytes)
    throw problem('names no environment file that can be read.', 'Create the file or correct the path.');
  // The types allow undefined values, which the parser never makes.
  return parseEnv(readFileSync(path, 'utf8')) as Readonly<Record<string, string>>;
}
