/** Tools from a file of somebody's: what they take and give is known there, and nowhere in a ledger. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AnyTool } from '../tool/define-tool.ts';
import { isTool } from '../tool/define-tool.ts';
import { UsageError } from './usage-error.ts';

/** Only the file itself is run. No body of its tools is. */
export async function loadTools(path: string): Promise<readonly AnyTool[]> {
  let given: unknown;
  try {
    ({ default: given } = (await import(pathToFileURL(resolve(path)).href)) as {
      readonly default?: unknown;
    });
  } catch (error) {
    throw new UsageError(
      `${path} gives no tools: ${error instanceof Error ? error.message : String(error)}`,
      [how],
    );
  }
  if (Array.isArray(given) && given.every(isTool)) return given;
  throw new UsageError(`${path} exports no list of tools, as its default.`, [how]);
}

const how = 'export default [defineTool({ … }), …];';
