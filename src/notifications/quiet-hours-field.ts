import type { QuietHours } from '../base/quiet-hours.ts';
import { findQuietHoursProblem, weekDays } from '../base/quiet-hours.ts';
import type { DocumentReader } from '../policy/read/document-reader.ts';

/** The quiet hours of the notifications file. */
export function readQuietHoursField(at: DocumentReader | undefined): readonly QuietHours[] {
  const hours = (at?.items(1, 'quiet hours') ?? []).flatMap((item) => readHours(item) ?? []);
  const problem = findQuietHoursProblem(hours);
  if (problem !== undefined) at?.refuse(`quietHours${problem}`);
  return hours;
}

function readHours(at: DocumentReader): QuietHours | undefined {
  const fields = at.closed(['from', 'to', 'timeZone', 'days']);
  const [from, to] = [fields?.required('from')?.text(), fields?.required('to')?.text()];
  const timeZone = fields?.required('timeZone')?.text();
  const days = fields
    ?.optional('days')
    ?.items(1, 'days')
    ?.flatMap((item) => item.oneOf(weekDays) ?? []);
  if (from === undefined || to === undefined || timeZone === undefined) return undefined;
  return { from, to, timeZone, ...(days !== undefined && { days }) };
}
