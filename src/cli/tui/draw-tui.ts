/** The screen of the terminal interface, as lines. Text of tools and models is made safe before it gets here. */
import { callColumns, callRow } from '../call-columns.ts';
import { inboxTable } from '../confirmation-columns.ts';
import type { PageLayout } from '../page-layout.ts';
import { questionPage } from '../question-page.ts';
import type { Row, Column } from '../table.ts';
import { layOutTable } from '../table.ts';
import { terminalText } from '../terminal-text.ts';
import { breakText, textWidth, trim } from '../text-width.ts';
import type { TuiState } from './tui-state.ts';

export type Screen = PageLayout & { readonly width: number; readonly rows: number };

/** Lines of the screen that the head and the foot take. */
const frame = 4;

/** Lines of the open question, and the number of lines that fit. */
export function pageOf(
  { open }: TuiState,
  screen: Screen,
  now: number,
): { readonly text: readonly string[]; readonly room: number } {
  const room = Math.max(1, screen.rows - frame);
  if (open === undefined) return { text: [], room };
  // Without colors, every line can be broken at the width. A line that the terminal breaks itself would push the end
  // of the question off the screen.
  const plain = { ...screen, paint: (_: unknown, text: string) => text };
  return { text: questionPage(open.view, plain, now).flatMap((line) => breakText(line, screen.width)), room };
}

export function drawTui(
  state: TuiState,
  screen: Screen,
  now: number,
  by: string | undefined,
): readonly string[] {
  const { paint, width, rows } = screen;
  const room = Math.max(1, rows - frame);
  const body =
    state.open === undefined ? listLines(state, screen, now, room) : questionLines(state, screen, now);
  const padded = [...body.slice(0, room), ...Array<string>(Math.max(0, room - body.length)).fill('')];
  const who = by === undefined ? 'read only' : `as ${terminalText(by)}`;
  const tabs = (['inbox', 'calls'] as const).map((tab) => {
    const label = tab === 'inbox' ? `Inbox ${state.waiting.length}` : 'Calls';
    return tab === state.tab ? paint('inverse', ` ${label} `) : ` ${label} `;
  });
  return [
    `${paint('bold', 'Quittance')}  ${tabs.join('')}  ${paint('dim', trim(who, Math.max(8, width - 34)))}`,
    paint('dim', '─'.repeat(width)),
    ...padded,
    paint('dim', '─'.repeat(width)),
    footLine(state, width, paint),
  ];
}

function listLines(state: TuiState, screen: Screen, now: number, room: number): readonly string[] {
  if (state.tab === 'calls')
    return state.calls.length === 0
      ? ['No calls yet.']
      : tableLines(
          callColumns,
          state.calls.map((call) => callRow(call, now)),
          screen,
          undefined,
          room,
        );
  if (state.waiting.length === 0) return ['No calls await approval.'];
  const { columns, rows } = inboxTable(state.waiting, now);
  return tableLines(columns, rows, screen, state.selected, room);
}

/** A table, scrolled so that the selected row is visible. */
function tableLines(
  columns: readonly Column[],
  rows: readonly Row[],
  { width, paint }: Screen,
  selected: number | undefined,
  room: number,
): readonly string[] {
  const table = layOutTable(columns, rows, width - 2, paint);
  const first = Math.max(0, (selected ?? 0) - (room - 2));
  return [
    `  ${table.heading()}`,
    ...rows
      .slice(first, first + room - 1)
      .map((row, index) => `${index + first === selected ? paint('bold', '> ') : '  '}${table.line(row)}`),
  ];
}

function questionLines(state: TuiState, screen: Screen, now: number): readonly string[] {
  const { text, room } = pageOf(state, screen, now);
  const top = state.open?.top ?? 0;
  return text.slice(top, top + room);
}

function footLine({ open, message, tab }: TuiState, width: number, paint: Screen['paint']): string {
  const cut = (text: string): string => trim(text, width);
  switch (open?.step.type) {
    case 'confirming':
      return paint('yellow', cut('Approve exactly this call? y: approve   any other key: no'));
    case 'denying': {
      const prompt = `Deny. Reason (optional), then Enter: ${terminalText(open.step.reason)}`;
      // The end of the typed text stays visible.
      const last = breakText(prompt, width - 1).at(-1) ?? '';
      return `${textWidth(prompt) < width ? prompt : last}_`;
    }
    case 'reading':
      return message === ''
        ? paint('dim', cut('a: approve   d: deny   space, j, k: scroll   Esc: back   Ctrl-C: quit'))
        : paint('yellow', cut(terminalText(message)));
    case undefined:
      return message === ''
        ? paint(
            'dim',
            cut(`${tab === 'inbox' ? 'Enter: open   j, k: move   ' : ''}Tab: other list   q: quit`),
          )
        : paint('yellow', cut(terminalText(message)));
  }
}
