/** Random disturbances of a process in the chaos run. */
import type { Order } from './errand.ts';
import type { Member, Troupe } from './troupe.ts';

export const disturbances = [
  'killed',
  'killed while stopped',
  'stopped',
  'closed',
  'no descriptors',
  'disk full',
  'disk read-only',
  'clock ahead',
  'clock back',
] as const;
export type Disturbance = (typeof disturbances)[number];

/** Returns the disturbance; undefined if every process is busy with one. */
export async function disturb(
  troupe: Troupe,
  random: (below: number) => number,
): Promise<Disturbance | undefined> {
  const free = [...troupe.members].filter(({ isBusy }) => !isBusy);
  const member = free[random(free.length || 1)];
  if (member === undefined) return undefined;
  // Half of the disturbances kill the process.
  const kind = random(2) === 0 ? 'killed' : (disturbances[random(disturbances.length)] ?? 'killed');
  const forMs = 200 + random(4_000);
  switch (kind) {
    case 'killed':
      await member.kill();
      return kind;
    case 'killed while stopped':
      member.stop();
      await new Promise((resolve) => setTimeout(resolve, random(500)));
      await member.kill();
      return kind;
    case 'closed':
      // Not awaited: the others continue meanwhile.
      member.isBusy = true;
      void member.close();
      return kind;
    case 'stopped':
      member.stop();
      troupe.later(member, forMs, () => member.goOn());
      return kind;
    case 'no descriptors':
      return forAWhile(troupe, member, forMs, kind, ['starve', 'feed']);
    case 'disk full':
      return forAWhile(troupe, member, forMs, kind, ['fill', 'free']);
    case 'disk read-only':
      return forAWhile(troupe, member, forMs, kind, ['protect', 'release']);
    case 'clock ahead':
      member.order({ type: 'jump', byMs: random(7_200_000) });
      return kind;
    case 'clock back':
      member.order({ type: 'jump', byMs: -random(7_200_000) });
      return kind;
  }
}

type Plain = Exclude<Order, { type: 'jump' }>['type'];

function forAWhile(
  troupe: Troupe,
  member: Member,
  forMs: number,
  kind: Disturbance,
  [begin, stop]: readonly [Plain, Plain],
): Disturbance {
  member.order({ type: begin });
  troupe.later(member, forMs, () => member.order({ type: stop }));
  return kind;
}
