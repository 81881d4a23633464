/**
 * The versions of each framework that its adapter is tested with. The package accepts every version at install time, so
 * that it fits into any project. A version outside the range is reported when the adapter starts.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { OnTrouble } from 'quittance/internal/runtime/telemetry';
import { warnOfTrouble } from 'quittance/internal/runtime/telemetry';

type Range = {
  readonly package: string;
  /** The oldest version. */
  readonly from: string;
  /** The first major version that is too new, if one is known. */
  readonly before?: number;
};

export type Adapter =
  | '@quittance/ag-ui'
  | '@quittance/ai-sdk'
  | '@quittance/anthropic'
  | '@quittance/claude-agent'
  | '@quittance/google-adk'
  | '@quittance/google-genai'
  | '@quittance/langchain'
  | '@quittance/mastra'
  | '@quittance/openai'
  | '@quittance/openai-agents';

export const testedVersions: Readonly<Record<Adapter, readonly Range[]>> = {
  '@quittance/ag-ui': [{ package: '@ag-ui/core', from: '0.0.59' }],
  '@quittance/ai-sdk': [{ package: 'ai', from: '6.0.0', before: 8 }],
  '@quittance/anthropic': [{ package: '@anthropic-ai/sdk', from: '0.74.0' }],
  '@quittance/claude-agent': [{ package: '@anthropic-ai/claude-agent-sdk', from: '0.2.89' }],
  '@quittance/google-adk': [{ package: '@google/adk', from: '2.0.0' }],
  '@quittance/google-genai': [{ package: '@google/genai', from: '1.30.0' }],
  '@quittance/langchain': [
    { package: '@langchain/core', from: '1.1.21', before: 2 },
    { package: '@langchain/langgraph', from: '1.1.2', before: 2 },
    { package: 'langchain', from: '1.2.20', before: 2 },
  ],
  '@quittance/mastra': [{ package: '@mastra/core', from: '1.22.0', before: 2 }],
  '@quittance/openai': [{ package: 'openai', from: '6.46.0' }],
  '@quittance/openai-agents': [{ package: '@openai/agents', from: '0.14.0' }],
};

/** Reports every installed framework of the adapter with an untested version. */
export function reportVersions(
  adapter: Adapter,
  onTrouble: OnTrouble = warnOfTrouble,
  importer: string | URL = import.meta.url,
): void {
  for (const range of testedVersions[adapter]) {
    const version = findVersion(range.package, importer);
    if (version === undefined || isWithin(version, range)) continue;
    onTrouble({
      type: 'framework.untested',
      adapter,
      package: range.package,
      version,
      message:
        `${range.package} is installed in version ${version}. ${adapter} is tested with versions from ` +
        `${range.from}${range.before === undefined ? '' : ` up to, but not including, ${range.before}.0.0`}. ` +
        'Install one of those. In other versions, calls may fail and approvals may not reach the ' +
        'framework.',
    });
  }
}

/** The version that the importer would load. Undefined if it is not installed or its manifest cannot be read. */
function findVersion(name: string, importer: string | URL): string | undefined {
  const { resolve } = createRequire(importer);
  for (const entry of [`${name}/package.json`, name])
    try {
      for (let folder = dirname(resolve(entry)); ; folder = dirname(folder)) {
        const found = readManifest(join(folder, 'package.json'));
        if (found?.name === name) return found.version;
        if (dirname(folder) === folder) break;
      }
    } catch {
      // Not installed, or its manifest is not exported: try the next way.
    }
  return undefined;
}

function readManifest(path: string): { readonly name?: string; readonly version?: string } | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { name?: string; version?: string }; // every manifest is an object
  } catch {
    return undefined;
  }
}

function isWithin(version: string, { from, before }: Range): boolean {
  const found = numbersOf(version);
  const least = numbersOf(from);
  if (before !== undefined && (found[0] ?? 0) >= before) return false;
  for (const [index, part] of least.entries()) if (found[index] !== part) return (found[index] ?? 0) > part;
  return true;
}

const numbersOf = (version: string): readonly number[] =>
  version.split(/[.+-]/, 3).map((part) => Number.parseInt(part, 10));
