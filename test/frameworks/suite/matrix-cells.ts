/** Which test of the suite shows what: the cells of the adapter matrix. */
import type { Harness } from './harness.ts';

export const matrixColumns = [
  'ordinary',
  'stream',
  'parallel',
  'structured',
  'block',
  'ask',
  'resume in a new process',
  'kill in the body',
  'bypasses',
] as const;

export type MatrixColumn = (typeof matrixColumns)[number];

export type MatrixCell = {
  readonly column: MatrixColumn;
  readonly file:
    | 'suite/behavior-suite.ts'
    | 'attacks.test.ts'
    | 'structured-answers.test.ts'
    | 'claude-agent-odd.test.ts'
    | 'ag-ui-clients.test.ts';
  /** The titles of its suites, and its own. */
  readonly path: readonly string[];
};

/** The cells of a framework. A missing feature, such as streaming, has no cell. */
export function cellsOf({ name, streams, suspends }: Harness): readonly MatrixCell[] {
  const inSuite = (column: MatrixColumn, ...path: readonly string[]): MatrixCell => ({
    column,
    file: 'suite/behavior-suite.ts',
    path: [name, ...path],
  });
  const told = 'the content for the model of a success and of a failure is what the ledger holds';
  return [
    inSuite('ordinary', 'streaming: false', told),
    ...(streams ? [inSuite('stream', 'streaming: true', told)] : []),
    inSuite(
      'parallel',
      'streaming: false',
      'parallel calls of one tool are not mixed up, whichever ends first',
    ),
    inSuite('structured', 'nested arguments and outputs arrive unchanged'),
    ...structuredAnswers(name),
    inSuite(
      'block',
      'streaming: false',
      'a blocked call does not run, the model gets the tabled content, and the run continues',
    ),
    inSuite('ask', 'a held call waits for a person elsewhere: approve'),
    suspends
      ? inSuite(
          'resume in a new process',
          'the approvals of the framework',
          'a run that stopped in one process continues in another, and resuming twice runs once',
        )
      : inSuite(
          'resume in a new process',
          'a process killed before the model goes on and run again does not repeat the effect',
        ),
    inSuite('kill in the body', 'a process killed in the body and run again does not repeat the effect'),
    {
      column: 'bypasses',
      file: 'attacks.test.ts',
      path: [name, 'a name that only looks like that of a blocked tool reaches no body'],
    },
  ];
}

/** User interfaces that show an agent over AG-UI. What its server does is in the row of AG-UI. */
export const agUiClients = ['CopilotKit', 'assistant-ui'] as const;

export function clientCells(name: (typeof agUiClients)[number]): readonly MatrixCell[] {
  const cell = (column: MatrixColumn, title: string): MatrixCell => ({
    column,
    file: 'ag-ui-clients.test.ts',
    path: [name, title],
  });
  const results = 'shows the recorded results of a success, a failure and a blocked call';
  return [
    cell('ordinary', results),
    cell('parallel', 'answers to two held calls of one message are not mixed up'),
    cell('block', results),
    cell('ask', 'a held call is asked about, runs once it is approved, and has one result'),
    cell('resume in a new process', 'a restarted server continues with the answer, on the same ledger file'),
    cell(
      'bypasses',
      'a tool of the page with the name of a governed tool decides nothing and adds no result',
    ),
  ];
}

/** Frameworks that give a structured final answer themselves. In a plain loop that is up to the loop. */
function structuredAnswers(name: string): readonly MatrixCell[] {
  const title = 'gives a structured final answer with governed tools';
  switch (name) {
    case 'AI SDK 7':
    case 'AI SDK 6':
    case 'OpenAI Agents':
    case 'LangChain':
    case 'Mastra':
    case 'Google ADK':
      return [{ column: 'structured', file: 'structured-answers.test.ts', path: [name, title] }];
    case 'Claude Agent SDK':
      return [{ column: 'structured', file: 'claude-agent-odd.test.ts', path: [name, title] }];
    default:
      return [];
  }
}

type Task = { readonly name: string; readonly tasks?: readonly Task[] };

/** Throws if a cell names a test that the running file does not have. */
export function refuseMissingTests(cells: readonly MatrixCell[], tasks: readonly Task[]): void {
  const missing = cells.filter(({ path }) => !hasTask(tasks, path));
  if (missing.length > 0)
    throw new Error(
      `The matrix names tests that are not there: ${missing.map(({ path }) => path.join(' > ')).join(', ')}`,
    );
}

const hasTask = (tasks: readonly Task[], [first, ...rest]: readonly string[]): boolean =>
  tasks.some(({ name, tasks: inner = [] }) => name === first && (rest.length === 0 || hasTask(inner, rest)));
