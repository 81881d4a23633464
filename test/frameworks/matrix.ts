/** Renders the adapter matrix, docs/adapter-matrix.md, from the harnesses and the cells of their suite. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadHarnesses } from './harnesses.ts';
import type { Harness } from './suite/harness.ts';
import type { MatrixCell } from './suite/matrix-cells.ts';
import { agUiClients, cellsOf, clientCells, matrixColumns } from './suite/matrix-cells.ts';
import latest from './package.json' with { type: 'json' };
import oldest from './oldest/package.json' with { type: 'json' };

const docs = join(import.meta.dirname, '../../docs');
export const matrixPath = 'docs/adapter-matrix.md';

/** The package that a harness runs. `any function` needs none. */
const packages: Readonly<Record<string, string>> = {
  'AI SDK 7': 'ai',
  'AI SDK 6': 'ai6',
  'OpenAI Agents': '@openai/agents',
  'Anthropic SDK': '@anthropic-ai/sdk',
  'OpenAI SDK, responses': 'openai',
  'OpenAI SDK, chat completions': 'openai',
  'Google GenAI SDK': '@google/genai',
  'Google GenAI SDK, automatic function calling': '@google/genai',
  LangChain: 'langchain',
  LangGraph: '@langchain/langgraph',
  Mastra: '@mastra/core',
  'Claude Agent SDK': '@anthropic-ai/claude-agent-sdk',
  'Google ADK': '@google/adk',
  'AG-UI': '@ag-ui/core',
};

const clientPackages: Readonly<Record<(typeof agUiClients)[number], string>> = {
  CopilotKit: '@copilotkit/core',
  'assistant-ui': '@assistant-ui/react-ag-ui',
};

const versionIn = ({ devDependencies }: { readonly devDependencies: object }, name: string): string =>
  String(new Map(Object.entries(devDependencies)).get(name) ?? '').replace(/^npm:.*@/, '');

function versionsOf({ name }: Harness): string {
  if (name === 'any function') return '';
  const found = packages[name];
  if (found === undefined)
    throw new Error(`The matrix does not know the package of ${name}: add it to matrix.ts.`);
  return `${versionIn(oldest, found)} to ${versionIn(latest, found)}`;
}

/** The type changes that a user sees, by page. The type tests next to the examples check them. */
const adoptions: readonly (readonly [page: string, title: string, types: string])[] = [
  [
    'ai-sdk',
    'AI SDK',
    'the tools with their inputs; outputs are `Output \\| ToolOutcome`, distinguished by `isToolOutcome`',
  ],
  ['openai-agents', 'OpenAI Agents', 'the same tools in the same places, and `OpenAiAgentsTool` behind them'],
  ['langchain', 'LangChain and LangGraph', 'a list of the tools that were given'],
  ['mastra', 'Mastra', 'the tools with their inputs; outputs are `Output \\| ToolOutcome`'],
  ['claude-agent', 'Claude Agent SDK', '`mcpServers` and `hooks` as `Options` of the SDK takes them'],
  ['anthropic', 'Anthropic SDK', '`tools` and tool-result blocks as the SDK takes them'],
  ['openai', 'OpenAI SDK', '`responseTools`, `completionTools` and outputs as the SDK takes them'],
  ['google-adk', 'Google ADK', 'tools as the agents of the kit take them'],
  ['ag-ui', 'AG-UI', 'events and tools as the protocol has them'],
  ['google-genai', 'Google GenAI SDK', 'tools and function responses as the SDK takes them'],
];

/** How many lines the change at the top of a page adds and removes. */
function changedLines(page: string): { readonly added: number; readonly removed: number } {
  const text = readFileSync(join(docs, 'adapters', `${page}.md`), 'utf8');
  const [, diff = ''] = /```diff\n([\s\S]*?)```/.exec(text) ?? [];
  const starting = (mark: string): number => diff.split('\n').filter((line) => line.startsWith(mark)).length;
  if (starting('+') === 0)
    throw new Error(`docs/adapters/${page}.md does not begin with a change that adopts it.`);
  return { added: starting('+'), removed: starting('-') };
}

function adoptionRow([page, title, types]: (typeof adoptions)[number]): readonly string[] {
  const { added, removed } = changedLines(page);
  const example = `test/frameworks/examples/${page}.ts`;
  const typeTest = `test/frameworks/${page}.test-d.ts`;
  const links = [example, typeTest].filter((file) => existsSync(join(docs, '..', file)));
  return [
    `[${title}](adapters/${page}.md)`,
    `+${added} −${removed}`,
    types,
    links.map((file) => `[${file.endsWith('.test-d.ts') ? 'types' : 'example'}](../${file})`).join(', '),
  ];
}

/** The page, before it is formatted. */
export async function renderMatrix(): Promise<string> {
  const harnesses = await loadHarnesses();
  const tests: string[] = [];
  const numberOf = ({ file, path }: MatrixCell): number => {
    // The frameworks share their suites: a test is identified by its title and its position in them.
    const test = `${path.slice(1).join(' › ')} ([${file}](../test/frameworks/${file}))`;
    if (!tests.includes(test)) tests.push(test);
    return tests.indexOf(test) + 1;
  };
  const rowOf = (name: string, versions: string, cells: readonly MatrixCell[]): readonly string[] => [
    name,
    versions,
    ...matrixColumns.map((column) =>
      cells
        .filter((cell) => cell.column === column)
        .map((cell) => `[test ${numberOf(cell)}](#tests)`)
        .join(', '),
    ),
  ];
  const rows = [
    ...harnesses.map((harness) => rowOf(harness.name, versionsOf(harness), cellsOf(harness))),
    ...agUiClients.map((name) =>
      rowOf(`${name}, over AG-UI`, versionIn(latest, clientPackages[name]), clientCells(name)),
    ),
  ];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const headings = ['framework', 'versions', ...matrixColumns];
  return [
    '<!-- Generated by `npm run docs` from test/frameworks/suite/matrix-cells.ts. Change that instead. -->',
    '',
    '# Adapter matrix',
    '',
    'Every cell is a test that runs through the real framework: `npm test` with the latest version, `npm run compat` with ' +
      'the oldest. A cell that names no test fails the suite. An empty cell means that the framework has no such thing.',
    '',
    'CopilotKit and assistant-ui are user interfaces. Their rows test what they show and send back. The row of AG-UI tests ' +
      'the server behind them.',
    '',
    line(headings),
    line(headings.map(() => '---')),
    ...rows.map(line),
    '',
    'Run one of them with `npx vitest run --project frameworks test/frameworks -t "Mastra"`. Each way around a governed tool ' +
      'has a row in [Frameworks](adapters.md#ways-around-a-governed-tool).',
    '',
    '## Adoption',
    '',
    'The lines that the change at the top of each page adds and removes, the types a user sees, and the program and the ' +
      'type tests that compile in strict mode.',
    '',
    line(['framework', 'lines', 'types', 'compiled']),
    line(['---', '---', '---', '---']),
    ...adoptions.map((adoption) => line(adoptionRow(adoption))),
    '',
    '## Tests',
    '',
    ...tests.map((test, index) => `${index + 1}. ${test}`),
    '',
  ].join('\n');
}
