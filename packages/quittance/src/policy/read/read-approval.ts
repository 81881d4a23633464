/** Reads `approval`: who must approve, how many, and what happens meanwhile. Extends the public language. */
import type { ApprovalPolicy, Approvers, Escalation, Seat } from '../../call/approval-policy.ts';
import { isRestricted } from '../../call/approval-policy.ts';
import type { ClosedObject, DocumentReader } from './document-reader.ts';
import {
  approvalShape,
  approverKeys,
  delegationWords,
  escalationShape,
  exclusions,
  keysOf,
  longestTimeout,
  mostApprovers,
  mostSeats,
  seatShape,
} from '../language/rule-shape.ts';
import type { AskTimeout } from '../language/ruleset.ts';

/** The approval of an ask. `more`: keys of the same object that are read elsewhere. */
export function readApproval(
  at: DocumentReader | undefined,
  { timeoutSeconds, timeoutEffect }: Partial<AskTimeout>,
  more: readonly string[] = [],
): ApprovalPolicy | undefined {
  const fields = at?.closed([...keysOf(approvalShape), ...more]);
  if (at === undefined || fields === undefined) return undefined;
  if (timeoutEffect === 'allow')
    at.refuse(
      'approval and timeout_effect: allow are both given: time must not replace the people that the rule needs.',
    );
  const seats = readSeats(at, fields, timeoutSeconds);
  const reminders = readReminders(fields.optional('reminders'), timeoutSeconds);
  const exclude = fields
    .optional('exclude')
    ?.items(1, 'words')
    ?.flatMap((item) => item.oneOf(exclusions) ?? []);
  const denials = fields.optional('denials')?.integer({ least: 1, most: mostApprovers });
  const delegation = fields.optional('delegation')?.oneOf(delegationWords);
  const shared = fields.optional('same_person')?.flag();
  if (seats.length > 1 && shared !== true && lacksPeople(seats))
    at.refuse(
      'all_of needs more different people than its entries name, and a person fills one place: the call could never run. Name more people, or set same_person: true.',
    );
  return {
    seats,
    ...(shared === true && { shared }),
    ...(exclude !== undefined && { exclude: [...new Set(exclude)] }),
    ...(denials !== undefined && { denials }),
    ...(delegation !== undefined && delegation !== 'once' && { delegation }),
    ...(reminders !== undefined && { reminders }),
  };
}

function readSeats(
  at: DocumentReader,
  fields: ClosedObject<string>,
  timeoutSeconds: number | undefined,
): readonly Seat[] {
  const several = fields.optional('all_of');
  if (several === undefined) return [readSeat(at, fields, timeoutSeconds)];
  for (const key of keysOf(seatShape))
    fields
      .optional(key)
      ?.refuse(`${key} and all_of are both given; with all_of, each entry has its own ${key}.`);
  const items = several.items(1, 'objects') ?? [];
  if (items.length > mostSeats) several.expected(`at most ${mostSeats} entries`);
  return items.flatMap((item) => {
    const seat = item.closed(keysOf(seatShape));
    return seat === undefined ? [] : [readSeat(item, seat, timeoutSeconds)];
  });
}

/** Do the entries that only named people can fill need more people than they name together? */
function lacksPeople(seats: readonly Seat[]): boolean {
  const named = seats.filter(
    ({ people, roles, groups, escalate }) =>
      people !== undefined && roles === undefined && groups === undefined && escalate === undefined,
  );
  const needed = named.reduce((sum, { quorum }) => sum + quorum, 0);
  return new Set(named.flatMap(({ people = [] }) => people)).size < needed;
}

function readSeat(
  at: DocumentReader,
  fields: ClosedObject<string>,
  timeoutSeconds: number | undefined,
): Seat {
  const approvers = readApprovers(fields);
  const quorum = fields.optional('quorum')?.integer({ least: 1, most: mostApprovers }) ?? 1;
  const escalate = fields
    .optional('escalate')
    ?.items(1, 'objects')
    ?.flatMap((item) => readEscalation(item, timeoutSeconds) ?? []);
  const { roles, groups, people } = approvers;
  const isOnlyPeople =
    people !== undefined && roles === undefined && groups === undefined && escalate === undefined;
  if (isOnlyPeople && new Set(people).size < quorum)
    at.refuse(
      `quorum is ${quorum}, but people names only ${new Set(people).size}: the call could never run.`,
    );
  if (escalate !== undefined && !isRestricted(approvers))
    at.refuse('escalate needs roles, groups or people: without them, everyone may approve from the start.');
  return { ...approvers, quorum, ...(escalate !== undefined && { escalate }) };
}

function readEscalation(at: DocumentReader, timeoutSeconds: number | undefined): Escalation | undefined {
  const fields = at.closed(keysOf(escalationShape));
  if (fields === undefined) return undefined;
  const after = fields.required('after');
  const seconds = after && readSeconds(after, timeoutSeconds);
  const approvers = readApprovers(fields);
  if (!isRestricted(approvers))
    at.refuse('escalate has an entry without roles, groups and people; expected at least one of them.');
  return seconds === undefined ? undefined : { after: seconds, ...approvers };
}

const readApprovers = (fields: ClosedObject<string>): Approvers =>
  Object.fromEntries(
    approverKeys.flatMap((key) => {
      const list = fields.optional(key)?.texts(1);
      return list === undefined ? [] : [[key, list]];
    }),
  );

function readReminders(
  at: DocumentReader | undefined,
  timeoutSeconds: number | undefined,
): readonly number[] | undefined {
  const seconds = at?.items(1, 'seconds')?.flatMap((item) => readSeconds(item, timeoutSeconds) ?? []);
  return seconds && [...new Set(seconds)].toSorted((one, other) => one - other);
}

/** A time after the question was asked. It must come before the question expires. */
function readSeconds(at: DocumentReader, timeoutSeconds: number | undefined): number | undefined {
  const seconds = at.integer({ least: 1, most: longestTimeout });
  if (seconds !== undefined && timeoutSeconds !== undefined && seconds >= timeoutSeconds)
    return at.refuse(
      `${at.name} is ${seconds} s after the question, which expires after ${timeoutSeconds} s. Set a longer timeout, or a shorter time here.`,
    );
  return seconds;
}
