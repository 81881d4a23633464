/** Durable behaviors, as rows of a table and as JSON. */
import type { JsonObject } from '../base/json.ts';
import type { Cursor } from '../ledger/cursors.ts';
import { terminalText } from './terminal-text.ts';
import type { Column, Row } from './table.ts';
import { withoutUndefined } from './to-json.ts';

/** A behavior and the state of its reader. */
export type ListedBehavior = Cursor & {
  /** Number of entries it has not read yet; at most `mostBehind`. */
  readonly behind: number;
  /**
   * `reading`: a process reads for it. `gone`: its process ended without releasing it. `free`: no process reads for
   * it. `stuck`: its next entry cannot be read.
   */
  readonly status: 'reading' | 'gone' | 'free' | 'stuck';
  /** The unreadable entry and the cause. */
  readonly problem: string | undefined;
};

/** Counting stops here: a behavior that far behind has a problem, whatever the number. */
export const mostBehind = 10_000;

export const behaviorColumns: readonly Column[] = [
  { title: 'BEHAVIOR', min: 12 },
  { title: 'POSITION', align: 'right' },
  { title: 'BEHIND', align: 'right' },
  { title: 'STATUS' },
  { title: 'HOLDER', min: 12 },
];

const styles = { reading: 'green', gone: 'yellow', free: 'dim', stuck: 'red' } as const;

export const behaviorRow = ({ name, position, behind, status, holder }: ListedBehavior): Row => [
  terminalText(name),
  String(position),
  behind === 0 ? '·' : behind === mostBehind ? `${mostBehind}+` : String(behind),
  { text: status, style: styles[status] },
  terminalText(holder ?? '·'),
];

export const behaviorToJson = ({
  name,
  position,
  behind,
  status,
  holder,
  ownerId,
  problem,
}: ListedBehavior): JsonObject =>
  withoutUndefined({ name, position, behind, status, problem, holder, ownerId });
