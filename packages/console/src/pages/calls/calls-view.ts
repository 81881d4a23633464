/** Filters of the calls page. They are stored in the address, so a view can be saved and shared. */
import type { Query } from '../../api/client.ts';
import { addressOf } from '../../route.ts';
import { formatTime } from '../../ui/time.tsx';
import { outcomeTitle, outcomeTypeLabels } from 'quittance/internal/view/outcome-words';

const names = [
  'search',
  'outcome',
  'errors',
  'status',
  'mode',
  'toolName',
  'code',
  'sessionId',
  'principal',
  'ruleId',
  'unresolved',
  'within',
  'since',
  'until',
] as const;

export type ViewField = (typeof names)[number];
export type CallsView = Readonly<Partial<Record<ViewField, string>>>;

/** Time span back from now. */
export const spans: Readonly<Record<string, { readonly ms: number; readonly label: string }>> = {
  '15m': { ms: 15 * 60_000, label: 'Last 15 minutes' },
  '1h': { ms: 3_600_000, label: 'Last hour' },
  '24h': { ms: 86_400_000, label: 'Last day' },
  '7d': { ms: 7 * 86_400_000, label: 'Last 7 days' },
  '30d': { ms: 30 * 86_400_000, label: 'Last 30 days' },
};

export function readView(query: URLSearchParams): CallsView {
  const view: Partial<Record<ViewField, string>> = {};
  for (const name of names) {
    const value = query.get(name);
    if (value !== null && value !== '') view[name] = value;
  }
  return view;
}

export const viewAddress = (view: CallsView): string => addressOf(['calls'], inOrder(view));

/** One key per view, whatever the order of its fields. */
export const viewKey = (view: CallsView): string => JSON.stringify(inOrder(view));

const inOrder = (view: CallsView): Record<string, string | undefined> =>
  Object.fromEntries(names.map((name) => [name, view[name] === '' ? undefined : view[name]]));

export const changeView = (
  view: CallsView,
  change: Partial<Record<ViewField, string | undefined>>,
): CallsView => readView(new URLSearchParams(addressOf([], { ...view, ...change }).slice(2)));

/** The request for a view. A span starts at a whole minute, so that repeated requests are the same. */
export function toQuery({ within, ...view }: CallsView, now: number): Query {
  const span = within === undefined || !Object.hasOwn(spans, within) ? undefined : spans[within];
  return {
    ...view,
    ...(span !== undefined && { since: Math.floor((now - span.ms) / 60_000) * 60_000 }),
  };
}

/** Predefined views. */
export const commonViews: readonly { readonly name: string; readonly view: CallsView }[] = [
  { name: 'All', view: {} },
  { name: 'Held', view: { status: 'held' } },
  { name: 'Errors', view: { errors: 'true' } },
  { name: outcomeTitle('failed'), view: { outcome: 'ToolFailure' } },
  { name: outcomeTitle('timed_out'), view: { outcome: 'ToolTimeout' } },
  { name: outcomeTitle('denied'), view: { outcome: 'ToolDenied' } },
  { name: 'To reconcile', view: { unresolved: 'true' } },
];

const outcomeLabels: Readonly<Record<string, string>> = outcomeTypeLabels;

const fieldLabels: Readonly<Record<ViewField, string>> = {
  search: 'search',
  outcome: 'outcome',
  errors: 'errors only',
  status: 'status',
  mode: 'mode',
  toolName: 'tool',
  code: 'code',
  sessionId: 'session',
  principal: 'principal',
  ruleId: 'denied by rule',
  unresolved: 'to reconcile',
  within: 'time',
  since: 'from',
  until: 'before',
};

export const labelOfField = (field: ViewField): string => fieldLabels[field];

export function labelOfValue(field: ViewField, value: string): string {
  if (field === 'outcome') return (Object.hasOwn(outcomeLabels, value) && outcomeLabels[value]) || value;
  if (field === 'mode') return value.replaceAll('_', ' ');
  if (field === 'within') return (Object.hasOwn(spans, value) && spans[value]?.label.toLowerCase()) || value;
  if (field === 'until' || field === 'since')
    return /^\d{1,15}$/.test(value) ? formatTime(Number(value)) : value;
  if (field === 'unresolved' || field === 'errors') return value === 'true' ? 'yes' : 'no';
  return value;
}
