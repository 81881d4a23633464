/**
 * The approvals that an ask requires. The policy comes from a rule, is stored with the ask, and never changes for that
 * question.
 *
 * 1. Every seat must be filled by its quorum of distinct people. A person fills one seat, unless `shared`.
 * 2. Field names are single words, because they are the same on disk.
 */
import type { JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';

export type ApprovalPolicy = {
  /** At least one. */
  readonly seats: readonly Seat[];
  /** One person may fill a place of several seats. */
  readonly shared?: true;
  /** People who may not approve, whatever groups they are in. */
  readonly exclude?: readonly Exclusion[];
  /** Number of denials that end the question. Default 1. */
  readonly denials?: number;
  /** `none`: approvers act themselves. `chain`: a delegate may delegate. Default: one step. */
  readonly delegation?: 'none' | 'chain';
  /** Seconds after the question was asked, ascending. A reminder is recorded at each. */
  readonly reminders?: readonly number[];
};

export type Exclusion = 'asker' | 'session_owner';

/** Without roles, groups and people: anyone who may decide. */
export type Approvers = {
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  /**
   * Exact names: the subject of a provider's identity, `<issuer>#<subject>`, the name or owner of a token, an OS
   * user. Never the display name of a provider: people can often change it.
   */
  readonly people?: readonly string[];
};

export type Seat = Approvers & {
  /** Required number of distinct people. */
  readonly quorum: number;
  /** Further approvers after a time. */
  readonly escalate?: readonly Escalation[];
};

export type Escalation = Approvers & {
  /** Seconds after the question was asked. */
  readonly after: number;
};

/** True if it restricts who may approve. Only verified people fill a restricted seat. */
export const isRestricted = ({ roles, groups, people }: Approvers): boolean =>
  roles !== undefined || groups !== undefined || people !== undefined;

/** The approvers of a seat at a time: its own, and those added by then. */
export function approversAt({ escalate = [], ...own }: Seat, elapsedMs: number): readonly Approvers[] {
  return [own, ...escalate.filter(({ after }) => after * 1_000 <= elapsedMs)];
}

/** For people: `2 of finance`, `1 of ada or bob`. */
export function describeApprovers({ roles = [], groups = [], people = [] }: Approvers): string {
  const parts = [
    ...groups.map((group) => `group ${group}`),
    ...roles.map((role) => `role ${role}`),
    ...people,
  ];
  return parts.length === 0 ? 'any approver' : parts.join(' or ');
}

/** True if this version understands the whole policy. An unknown field may be a restriction. */
export function isApprovalPolicy(value: unknown): value is ApprovalPolicy {
  if (!isJsonObject(value)) return false;
  const { seats, shared, exclude = [], denials = 1, delegation, reminders = [], ...rest } = value;
  return (
    Object.keys(rest).length === 0 &&
    isListOf(seats, isSeat) &&
    seats.length > 0 &&
    (shared === undefined || shared === true) &&
    isListOf(exclude, (each) => each === 'asker' || each === 'session_owner') &&
    isCount(denials) &&
    (delegation === undefined || delegation === 'none' || delegation === 'chain') &&
    isListOf(reminders, isCount)
  );
}

function isSeat(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  const { quorum, escalate = [], ...approvers } = value;
  return isCount(quorum) && areApprovers(approvers) && isListOf(escalate, isEscalation);
}

function isEscalation(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  const { after, ...approvers } = value;
  return isCount(after) && areApprovers(approvers);
}

const areApprovers = (value: { readonly [key: string]: JsonValue }): boolean =>
  Object.entries(value).every(
    ([key, list]) =>
      ['roles', 'groups', 'people'].includes(key) && isListOf(list, (each) => typeof each === 'string'),
  );

const isListOf = (
  value: JsonValue | undefined,
  isItem: (each: JsonValue) => boolean,
): value is readonly JsonValue[] => Array.isArray(value) && value.every(isItem);

const isCount = (value: JsonValue | undefined): boolean => Number.isSafeInteger(value) && Number(value) >= 1;
