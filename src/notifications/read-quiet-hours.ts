import type { DocumentReader } from '../policy/read/document-reader.ts';
import type { QuietHours } from './quiet-hours.ts';
import { createZoneClock, weekDays } from './quiet-hours.ts';

/** Quiet hours of the notifications file. */
export function readQuietHours(at: DocumentReader): QuietHours | undefined {
  const fields = at.closed(['from', 'to', 'timeZone', 'days']);
  if (fields === undefined) return undefined;
  const [from, to] = [readTime(fields.required('from')), readTime(fields.required('to'))];
  const zoneAt = fields.required('timeZone');
  const timeZone = zoneAt?.text();
  const clock = timeZone === undefined ? undefined : readZone(timeZone, zoneAt);
  const days = fields
    .optional('days')
    ?.items(1, 'days')
    ?.flatMap((item) => item.oneOf(weekDays) ?? []);
  if (from === undefined || to === undefined || timeZone === undefined || clock === undefined)
    return undefined;
  if (from === to && (days ?? weekDays).length === weekDays.length)
    return at.refuse('These quiet hours never end: a question would wait for ever.');
  return { days: days ?? weekDays, from, to, timeZone, clock };
}

/** `HH:MM` as minutes after midnight. */
function readTime(at: DocumentReader | undefined): number | undefined {
  const text = at?.text({ pattern: /^(?:[01]\d|2[0-3]):[0-5]\d$/, patternWords: 'a time such as "22:00"' });
  if (text === undefined) return undefined;
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  return hours * 60 + minutes;
}

function readZone(timeZone: string, at: DocumentReader | undefined): Intl.DateTimeFormat | undefined {
  try {
    return createZoneClock(timeZone);
  } catch {
    return at?.expected('the name of a time zone, e.g. Europe/Berlin or UTC');
  }
}
