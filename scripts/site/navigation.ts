/** The order of the documentation, for the site, docs/index.md and llms.txt. Titles come from the pages themselves. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { recipes } from '../cookbook.ts';

export type Section = {
  readonly title: string;
  /** What the section is for, in a few words. */
  readonly about: string;
  /** Paths from docs/. */
  readonly pages: readonly string[];
};

const docs = join(import.meta.dirname, '../../docs');

/** Page names without their ending, separated by blanks. */
const list = (names: string): readonly string[] => names.split(/\s+/).map((name) => `${name}.md`);

const planned: readonly Section[] = [
  {
    title: 'Start',
    about: 'five minutes, and the ideas',
    pages: list('getting-started first-program concepts packages'),
  },
  {
    title: 'Guides',
    about: 'one job each',
    pages: list(
      `guides/protect-a-shell-tool guides/approvals-in-slack guides/move-to-postgresql mcp-guide
      guides/test-with-recordings guides/review-an-incident moving-from-edictum`,
    ),
  },
  {
    title: 'Cookbook',
    about: 'short programs that run',
    pages: ['cookbook.md', 'applications.md', ...recipes.map(({ slug }) => `cookbook/${slug}.md`)],
  },
  {
    title: 'Tools and calls',
    about: 'what a program needs',
    pages: list(
      `tools tool-input tool-results runtime calls redaction own-files behaviors retries hand-off react testing
      faults`,
    ),
  },
  {
    title: 'Frameworks and MCP',
    about: 'keep the framework you have',
    pages: list(
      `adapters adapters/ai-sdk adapters/openai-agents adapters/langchain adapters/claude-agent adapters/mastra
      adapters/anthropic adapters/openai adapters/google-adk adapters/google-genai adapters/ag-ui mcp mcp-gateway mcp-servers`,
    ),
  },
  {
    title: 'People',
    about: 'approvals and who gives them',
    pages: list('people identity approval-policies grants previews-and-undo undo notifications console tui'),
  },
  {
    title: 'Rules',
    about: 'contracts in YAML',
    pages: list(
      `contracts contract-conditions contract-sandbox sandboxed-executor contract-limits contract-workflows contract-loading
      contract-testing backtest-and-diff`,
    ),
  },
  {
    title: 'Operations',
    about: 'stores, servers and daily work',
    pages: list(
      `operations command-line ledger ledger-recovery ledger-failures ledger-verify ledger-internals postgres
      postgres-operations postgres-internals scaling http http-decisions http-limits sign-in telemetry platforms`,
    ),
  },
  {
    title: 'Reference',
    about: 'generated from the code',
    pages: list(
      `cli settings http-routes events outcomes model-content audit reason-codes errors adapter-matrix
      adapter-bypasses glossary`,
    ),
  },
  {
    title: 'Security',
    about: 'what holds, and what does not',
    pages: list('threat-model file-layout attacks'),
  },
  {
    title: 'About',
    about: 'choices and versions',
    pages: list('comparison faq versioning'),
  },
];

/** Pages for people who work on Quittance itself. They are not in the navigation. */
export const projectPages: readonly string[] = ['names.md', 'deviations.md', 'mutation.md'];

export const navigation: readonly Section[] = planned.map((section) => ({
  ...section,
  pages: section.pages.filter((page) => existsSync(join(docs, page))),
}));

/** Pages of docs/ that no list above names. */
export function findUnlisted(): readonly string[] {
  const listed = new Set(['index.md', ...projectPages, ...planned.flatMap(({ pages }) => pages)]);
  return globSync('**/*.md', { cwd: docs })
    .map((path) => path.split(sep).join('/'))
    .filter((path) => !listed.has(path) && !path.startsWith('decisions/'));
}

export function titleOf(page: string): string {
  const text = readFileSync(join(docs, page), 'utf8');
  const [, title] = /^# (.+)$/m.exec(text) ?? [];
  if (title === undefined) throw new Error(`docs/${page} has no title.`);
  return title;
}

/** The first sentence of a page. */
export function summaryOf(page: string): string {
  const text = readFileSync(join(docs, page), 'utf8').replaceAll(/<!--.*?-->/gs, '');
  const paragraphs = text.split(/\n{2,}/).map((paragraph) => paragraph.trim());
  const first =
    paragraphs.find((paragraph) => /^[A-Z“`[]/.test(paragraph) && !paragraph.startsWith('```')) ?? '';
  const plain = first.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').replaceAll('\n', ' ');
  // A sentence may contain a period in code, such as `log.level`, and ends with a colon only before a block.
  return /^(?:`[^`]*`|[^`])+?(?:[.?](?= |$)|:$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain;
}
