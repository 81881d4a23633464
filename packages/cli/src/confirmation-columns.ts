/** Confirmations, as rows of a table and as JSON. */
import type { JsonObject } from 'quittance/internal/base/json';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import type { RiskLevel } from 'quittance/internal/view/risk-level';
import { riskLevel } from 'quittance/internal/view/risk-level';
import { describeMissing, hasPolicy } from 'quittance/internal/call/quorum';
import { terminalId, terminalText } from './terminal-text.ts';
import { shortDigest } from './short-digest.ts';
import type { Cell, Column, Row } from './table.ts';
import type { Style } from './terminal.ts';
import { age } from './time-text.ts';
import { toJsonWithTimes, withoutUndefined } from './to-json.ts';

/** Risks of a call, worst first. Unlisted words rank after these. */
const worstFirst: readonly string[] = [
  'irreversible',
  'destructive',
  'may have happened already',
  'hidden because the same value has a secret name elsewhere',
  'unknown kind of tool',
  'reaches production',
  'involves money',
  'involves credentials or rights',
  'runs or changes code',
  'publishes',
  'shares with others',
  'touches this machine',
  'reaches outside',
  'cannot be repeated safely',
];

/** Smaller is worse. */
export const riskRank = ({ risk }: Pick<ConfirmationView, 'risk'>): number =>
  Math.min(
    worstFirst.length + 1,
    ...risk.map((word) => {
      const rank = worstFirst.indexOf(word.replace(/: .*$/s, ''));
      return rank === -1 ? worstFirst.length : rank;
    }),
  );

/** Riskiest first, then oldest first. Expired confirmations come last. */
export function byRiskAndAge(views: readonly ConfirmationView[], now: number): ConfirmationView[] {
  const isOver = ({ expiresAt }: ConfirmationView): number =>
    expiresAt !== undefined && now >= expiresAt ? 1 : 0;
  return views.toSorted(
    (left, right) =>
      isOver(left) - isOver(right) || riskRank(left) - riskRank(right) || left.createdAt - right.createdAt,
  );
}

/** As in the console. */
const styles: { readonly [Level in RiskLevel]: Style } = { high: 'red', medium: 'yellow', low: 'blue' };

const styleOf = ({ risk }: ConfirmationView): Style => styles[riskLevel(risk)];

export const confirmationColumns: readonly Column[] = [
  { title: 'AGE', usual: 6 },
  { title: 'CONFIRMATION' },
  { title: 'TOOL', min: 10 },
  { title: 'WHY', min: 20 },
  { title: 'EXPIRES', usual: 7 },
  { title: 'DIGEST', optional: 3 },
  { title: 'REV', align: 'right', optional: 3 },
  { title: 'MISSING', min: 8, optional: 2 },
  { title: 'ASKED BY', min: 8, optional: 4 },
  { title: 'RISK', min: 11, optional: 1 },
  { title: 'FOR', min: 6, optional: 5 },
  { title: 'CALL', min: 12, optional: 6 },
  { title: 'SESSION', min: 12, optional: 7 },
];

/** Number of characters that make every id unique. */
export function shortLength(views: readonly ConfirmationView[]): number {
  const ids = [...new Set(views.map(({ confirmationId }) => confirmationId))];
  let length = 12;
  while (new Set(ids.map((id) => id.slice(0, length))).size < ids.length) length++;
  return length;
}

export function confirmationRow(view: ConfirmationView, now: number, idLength: number): Row {
  const { principal, preview, expiresAt } = view;
  const left = expiresAt === undefined ? 'never' : now >= expiresAt ? 'over' : age(expiresAt, now);
  return [
    age(view.createdAt, now),
    terminalText(view.confirmationId.slice(0, idLength)),
    { text: terminalId(view.toolName), style: styleOf(view) },
    terminalText(view.description),
    left === 'over' ? { text: left, style: 'dim' } : left,
    shortDigest(view.inputDigest),
    preview === undefined ? '' : String(preview.revision),
    terminalText(hasPolicy(view.asks) ? describeMissing(view.missing) : ''),
    terminalText([...new Set(view.asks.map(({ by }) => `${by.type} ${by.name}`))].join(', ')),
    terminalText(view.risk.join(', ')),
    terminalText(principal?.userId ?? principal?.serviceId ?? ''),
    terminalId(view.callId),
    terminalId(view.sessionId),
  ];
}

/**
 * A list in which a person opens a row: what they decide by, without the ids that other commands need. Columns without
 * content are left out.
 */
export function inboxTable(
  views: readonly ConfirmationView[],
  now: number,
): { readonly columns: readonly Column[]; readonly rows: readonly Row[] } {
  const rows = views.map((view) => confirmationRow(view, now, 0));
  const cellOf = (title: string, index: number): Cell =>
    rows[index]?.[confirmationColumns.findIndex((column) => column.title === title)] ?? '';
  const columns = inboxColumns.filter(
    ({ title, optional }) => optional === undefined || rows.some((_, index) => cellOf(title, index) !== ''),
  );
  return {
    columns,
    rows: views.map((view, index) =>
      columns.map(({ title }) =>
        title === 'RISK' ? { text: riskLevel(view.risk), style: styleOf(view) } : cellOf(title, index),
      ),
    ),
  };
}

const inboxColumns: readonly Column[] = [
  { title: 'AGE', usual: 6 },
  { title: 'RISK', usual: 6 },
  { title: 'TOOL', min: 14 },
  { title: 'WHY', min: 36 },
  { title: 'EXPIRES', usual: 7 },
  { title: 'MISSING', min: 8, optional: 1 },
  { title: 'FOR', min: 6, optional: 2 },
  { title: 'SESSION', min: 12, optional: 3 },
];

export const confirmationToJson = (view: ConfirmationView): JsonObject => ({
  ...toJsonWithTimes(view, 'createdAt', 'expiresAt', 'decidedAt'),
  ...withoutUndefined({
    preview: view.preview && toJsonWithTimes(view.preview, 'expiresAt'),
    comparison: view.comparison && toJsonWithTimes(view.comparison, 'at'),
  }),
});
