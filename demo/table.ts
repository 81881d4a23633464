/** The table of the demo: one call per row, with the text for the model below it, or next to it on a wide page. */
import type { Style } from './terminal.ts';
import { fit, trim, wrap } from '../packages/cli/src/text-width.ts';
import { pageWidth, paint } from './terminal.ts';

export type Row = {
  readonly asked: string;
  readonly happened: string;
  /** One of the words below; colors go by it. */
  readonly outcome: string;
  /** The reason of a denial, shown if there is room. */
  readonly reason: string;
  readonly code: string;
  readonly told: string;
};

/** The colors of the outcomes, wherever they are named. */
const colors: Readonly<Record<string, Style>> = {
  result: 'green',
  artifact: 'cyan',
  timeout: 'yellow',
  failure: 'red',
  denied: 'magenta',
  pending: 'blue',
};

const indent = '  ';
const gap = '  ';

type Columns = {
  readonly asked: number;
  readonly happened: number;
  readonly outcome: number;
  readonly code: number;
  /** Undefined if it has its own line. */
  readonly told: number | undefined;
};

function columnsFor(width: number): Columns {
  const roomy = width >= 130;
  const outcome = roomy ? 'denied write_denied'.length : 'artifact'.length;
  const code = roomy ? 'budget.tool_calls_exhausted'.length : 'confirmation.rejected'.length;
  const told = width >= 190 ? Math.floor(width / 4) : undefined;
  const rest = width - indent.length - outcome - code - gap.length * 3 - (told ?? -gap.length) - gap.length;
  const asked = Math.floor(rest * 0.42);
  return { asked, happened: rest - asked, outcome, code, told };
}

export function printHeading(): void {
  const columns = columnsFor(pageWidth());
  const cells = [
    fit('the agent requested', columns.asked),
    fit('what happened', columns.happened),
    fit('outcome', columns.outcome),
    fit('why', columns.code),
    ...(columns.told === undefined ? [] : ['the model received']),
  ];
  print(paint('dim', `${indent}${cells.join(gap)}`.trimEnd()));
  if (columns.told === undefined) print(paint('dim', `${indent}  └ the model received`));
  print(paint('dim', '─'.repeat(pageWidth())));
}

export function printScene(number: number, title: string): void {
  print('');
  const [first = '', ...rest] = wrap(title, pageWidth() - 4);
  print(`${paint('bold', `${String(number).padStart(2)}  ${first}`)}`);
  for (const line of rest) print(paint('bold', `    ${line}`));
}

export function printRow(row: Row): void {
  const width = pageWidth();
  const columns = columnsFor(width);
  const asked = cellLines(row.asked, columns.asked, width);
  const happened = cellLines(row.happened, columns.happened, width);
  const outcome = columns.outcome > 'artifact'.length ? `${row.outcome} ${row.reason}`.trim() : row.outcome;
  const told = columns.told === undefined ? '' : paint('dim', trim(row.told, columns.told));
  const first = [
    fit(asked[0] ?? '', columns.asked),
    fit(happened[0] ?? '', columns.happened),
    paintOutcome(row.outcome, fit(outcome, columns.outcome)),
    fit(row.code, columns.code),
    told,
  ];
  print(`${indent}${first.join(gap)}`.trimEnd());
  for (let index = 1; index < Math.max(asked.length, happened.length); index++)
    print(`${indent}${fit(asked[index] ?? '', columns.asked)}${gap}${happened[index] ?? ''}`.trimEnd());
  if (columns.told === undefined)
    print(paint('dim', `${indent}  └ ${trim(row.told, width - indent.length - 4)}`));
}

/** A cell in one line; on a narrow page in two, so that its end is not lost. */
function cellLines(text: string, width: number, pageColumns: number): readonly string[] {
  if (pageColumns >= 96) return [text];
  const [first = '', ...rest] = wrap(text, width);
  return rest.length === 0 ? [first] : [first, trim(rest.join(' '), width)];
}

/** Text in the color of an outcome. */
export const paintOutcome = (outcome: string, text: string): string =>
  paint(colors[outcome] ?? 'reset', text);

/** A remark between calls. */
export function printNote(text: string): void {
  for (const [index, line] of wrap(text, pageWidth() - 6).entries())
    print(paint('italic', `${indent}${index === 0 ? '· ' : '  '}${line}`));
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
