/** Loads tools from a user's module. Their schemas are only known there, not in the ledger. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AnyTool } from 'quittance/internal/tool/define-tool';
import { isTool } from 'quittance/internal/tool/define-tool';
import { UsageError } from './usage-error.ts';

/** Runs only the module itself, never a tool. */
export async function loadTools(path: string): Promise<readonly AnyTool[]> {
  let given: unknown;
  try {
    ({ default: given } = (await import(pathToFileURL(resolve(path)).href)) as {
      readonly default?: unknown;
    });
  } catch (error) {
    throw new UsageError(
      `Loading tools from ${path} failed: ${error instanceof Error ? error.message : String(error)}`,
      [how],
    );
  }
  if (Array.isArray(given) && given.every(isTool)) return given;
  throw new UsageError(`The default export of ${path} is not a list of tools.`, [how]);
}

const how = 'export default [defineTool({ … }), …];';
