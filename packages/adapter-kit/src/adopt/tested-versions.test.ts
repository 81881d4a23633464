import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RuntimeTrouble } from 'quittance/internal/runtime/telemetry';
import { reportVersions, testedVersions, type Adapter } from './tested-versions.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quittance-versions-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function install(name: string, version: string, manifest: object = {}): void {
  const at = join(folder, 'node_modules', name);
  mkdirSync(join(at, 'dist'), { recursive: true });
  writeFileSync(
    join(at, 'package.json'),
    JSON.stringify({ name, version, main: 'dist/index.js', ...manifest }),
  );
  writeFileSync(join(at, 'dist', 'index.js'), '');
  // A file of build tools, which says nothing about the package.
  writeFileSync(join(at, 'dist', 'package.json'), JSON.stringify({ type: 'commonjs' }));
}

function told(adapter: Adapter): readonly string[] {
  const troubles: RuntimeTrouble[] = [];
  reportVersions(adapter, (trouble) => troubles.push(trouble), join(folder, 'index.js'));
  return troubles.map((trouble) =>
    trouble.type === 'framework.untested' ? `${trouble.package} ${trouble.version}` : trouble.type,
  );
}

describe('the version of a framework', () => {
  test.each([
    ['@quittance/ai-sdk', 'ai', '5.9.9', true],
    ['@quittance/ai-sdk', 'ai', '6.0.0', false],
    ['@quittance/ai-sdk', 'ai', '7.12.3', false],
    ['@quittance/ai-sdk', 'ai', '8.0.0-beta.1', true],
    ['@quittance/openai', 'openai', '4.104.0', true],
    ['@quittance/openai', 'openai', '99.0.0', false],
    ['@quittance/anthropic', '@anthropic-ai/sdk', '0.73.9', true],
    ['@quittance/anthropic', '@anthropic-ai/sdk', '0.74.0', false],
    ['@quittance/mastra', '@mastra/core', '1.13.1', true],
    ['@quittance/mastra', '@mastra/core', '0.24.0', true],
    ['@quittance/claude-agent', '@anthropic-ai/claude-agent-sdk', '0.1.0', true],
    ['@quittance/openai-agents', '@openai/agents', '0.13.0', true],
    ['@quittance/ag-ui', '@ag-ui/core', '0.0.58', true],
    ['@quittance/ag-ui', '@ag-ui/core', '1.0.0', false],
    ['@quittance/google-adk', '@google/adk', '1.6.0', true],
    ['@quittance/google-adk', '@google/adk', '2.0.0', false],
    ['@quittance/google-genai', '@google/genai', '0.15.0', true],
    ['@quittance/google-genai', '@google/genai', '2.32.0', false],
    ['@quittance/langchain', 'langchain', '0.3.37', true],
    ['@quittance/langchain', '@langchain/core', '2.0.0', true],
  ] as const)('%s with %s %s is reported: %s', (adapter, name, version, isTold) => {
    install(name, version);
    expect(told(adapter)).toEqual(isTold ? [`${name} ${version}`] : []);
  });

  test('is found if the package exports no manifest', () => {
    install('ai', '5.0.0', { exports: { '.': './dist/index.js' } });
    expect(told('@quittance/ai-sdk')).toEqual(['ai 5.0.0']);
  });

  test('is not checked if the framework is not installed', () => {
    expect(told('@quittance/langchain')).toEqual([]);
  });

  test('is reported with advice', () => {
    install('ai', '5.0.0');
    const messages: string[] = [];
    reportVersions('@quittance/ai-sdk', ({ message }) => messages.push(message), join(folder, 'index.js'));
    expect(messages).toEqual([
      'ai is installed in version 5.0.0. @quittance/ai-sdk is tested with versions from 6.0.0 up to, but not including, ' +
        '8.0.0. Install one of those. In other versions, calls may fail and approvals may not reach the framework.',
    ]);
  });

  test('never blocks the installation: every framework is an optional peer in any version', () => {
    for (const [adapter, packages] of Object.entries(testedVersions)) {
      const manifest = JSON.parse(
        readFileSync(
          join(import.meta.dirname, `../../../${adapter.replace('@quittance/', '')}/package.json`),
          'utf8',
        ),
      ) as Readonly<Record<'peerDependencies' | 'peerDependenciesMeta', Readonly<Record<string, unknown>>>>;
      for (const { package: name } of packages) {
        expect([name, manifest.peerDependencies[name]]).toEqual([name, '*']);
        expect([name, manifest.peerDependenciesMeta[name]]).toEqual([name, { optional: true }]);
      }
    }
  });
});
