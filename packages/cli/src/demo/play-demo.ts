/**
 * A scripted agent that works in a shop until it is stopped, without a model or an API key. It makes requests as a
 * model would, including wrong arguments and unknown tools. It limits the number of open confirmations, so that
 * people can keep up.
 */
import type { JsonObject } from 'quittance/internal/base/json';
import type { Runtime } from 'quittance/internal/runtime/create-runtime';

export type DemoPlay = {
  readonly runtime: Runtime;
  readonly chance: () => number;
  readonly pause: (ms: number) => Promise<void>;
  readonly nextId: () => string;
  readonly signal: AbortSignal;
};

type Step = { readonly name: string; readonly arguments: JsonObject };
type Errand = {
  readonly title: string;
  /** What the errand leaves for people to do, if anything. */
  readonly leaves?: 'held' | 'unresolved';
  /** Steps run one after the other; the steps of an inner list run in parallel. */
  readonly steps: (pick: Pick) => readonly (Step | readonly Step[])[];
};
type Pick = <Value>(values: readonly Value[]) => Value;

const customers = ['Ines Duarte', 'Tomasz Król', 'Mei Tanaka', 'Samuel Okoro', 'Lena Vogt', 'Priya Nair'];
const people = ['ines', 'tomasz', 'mei', 'samuel'];
const orders = Array.from({ length: 40 }, (_, n) => `A-${1_000 + n}`);

const errands: readonly Errand[] = [
  {
    title: 'where is my order',
    steps: (pick) => [
      { name: 'look_up_order', arguments: { order: pick(orders) } },
      {
        name: 'send_mail',
        arguments: {
          to: 'support@example.com',
          subject: pick(['Your order', 'urgent: your order', 'About your parcel']),
          body: 'It is on its way. Card 4242 4242 4242 4242 was not charged again.',
        },
      },
    ],
  },
  {
    title: 'morning round',
    steps: (pick) => [
      [
        { name: 'search_orders', arguments: { customer: pick(customers) } },
        { name: 'look_up_order', arguments: { order: pick(orders) } },
        { name: 'get_exchange_rate', arguments: { currency: 'EUR' } },
        { name: 'export_report', arguments: { month: '2026-10' } },
      ],
      {
        name: 'send_mail',
        arguments: { to: 'office@example.com', subject: 'The morning', body: 'All is well.' },
      },
    ],
  },
  {
    title: 'what do we owe abroad',
    steps: (pick) => [
      { name: 'get_exchange_rate', arguments: { currency: pick(['EUR', 'GBP', 'JPY']) } },
      { name: 'get_exchange_rate', arguments: { currency: 'CHF' } },
    ],
  },
  {
    title: 'customer moved',
    steps: (pick) => [
      { name: 'search_orders', arguments: { customer: pick(customers) } },
      {
        name: 'update_address',
        arguments: {
          customer: pick(customers),
          address: pick(['7 Harbour Row', '22 Elm Street', '3 Mill Lane']),
        },
      },
    ],
  },
  {
    title: 'small refund',
    steps: (pick) => [
      // Numbers as strings, as models send them. The schema coerces them.
      { name: 'refund', arguments: { order: pick(orders), cents: '1200' } },
    ],
  },
  {
    title: 'larger refund',
    leaves: 'held',
    steps: (pick) => [
      { name: 'look_up_order', arguments: { order: pick(orders) } },
      { name: 'refund', arguments: { order: pick(orders), cents: pick([4_900, 7_500, 12_000]) } },
    ],
  },
  {
    title: 'too large a refund',
    steps: (pick) => [{ name: 'refund', arguments: { order: pick(orders), cents: 90_000 } }],
  },
  {
    title: 'newsletter to an outsider',
    steps: () => [
      {
        name: 'send_mail',
        arguments: { to: 'everybody@elsewhere.test', subject: 'Sale', body: 'Half off.' },
      },
    ],
  },
  {
    title: 'pay the baker',
    leaves: 'unresolved',
    steps: (pick) => [
      {
        name: 'pay_supplier',
        arguments: { supplier: pick(['mill', 'dairy', 'printer']), cents: pick([18_000, 42_500]) },
      },
    ],
  },
  {
    title: 'month end',
    steps: (pick) => [
      { name: 'export_report', arguments: { month: pick(['2026-08', '2026-09', '2026-10']) } },
      { name: 'archive_ticket', arguments: { ticket: `T-${pick(orders)}` } },
    ],
  },
  {
    title: 'forget me',
    leaves: 'held',
    steps: (pick) => [{ name: 'delete_customer', arguments: { customer: pick(customers) } }],
  },
  {
    title: 'figures of last year',
    leaves: 'held',
    steps: () => [{ name: 'export_report', arguments: { month: '2025-12' } }],
  },
  {
    title: 'a mistake of the model',
    steps: (pick) => [
      { name: 'refnd', arguments: { order: pick(orders), cents: 100 } },
      { name: 'look_up_order', arguments: { id: pick(orders) } },
    ],
  },
];

/** Per errand, so that errands waiting for approval leave room for others. */
const mostWaiting = 2;

/** Works until it is stopped. `warmUp`: number of errands to run first, so that there is something to see. */
export async function playDemo(
  play: DemoPlay,
  { warmUp, everyMs }: { warmUp: number; everyMs: number },
): Promise<void> {
  const underWay = new Set<Promise<unknown>>();
  for (let n = 0; !play.signal.aborted; n++) {
    const pick: Pick = (values) =>
      values[Math.floor(play.chance() * values.length)] as (typeof values)[number];
    // Runs every errand once first, so that each kind soon appears.
    const errand = errands[n] ?? pick(errands);
    if (!(await hasRoom(play.runtime, errand))) continue;
    const done = run(play, errand, pick);
    if (n < warmUp) await done;
    else {
      const quiet = done.catch(() => undefined).finally(() => underWay.delete(quiet));
      underWay.add(quiet);
      await play.pause(everyMs * (0.5 + play.chance()));
    }
  }
  await Promise.all(underWay);
}

async function hasRoom(runtime: Runtime, { title, leaves }: Errand): Promise<boolean> {
  if (leaves === undefined) return true;
  const { rows } =
    leaves === 'held'
      ? await runtime.confirmations.list({ status: 'pending', limit: 20 })
      : await runtime.calls.unresolved({ limit: 20 });
  return rows.filter(({ sessionId }) => sessionId.startsWith(sessionOf(title))).length < mostWaiting;
}

const sessionOf = (title: string): string => title.replaceAll(' ', '-');

async function run({ runtime, nextId, signal }: DemoPlay, errand: Errand, pick: Pick): Promise<void> {
  const sessionId = `${sessionOf(errand.title)}-${nextId()}`;
  const turn = runtime.turn({
    sessionId,
    principal: { userId: pick(people), role: 'support' },
    provenance: { provider: 'demo', model: 'scripted' },
    attrs: { errand: errand.title },
  });
  const steps = errand.steps(pick);
  for (const [index, step] of steps.entries()) {
    if (signal.aborted) return;
    if ('length' in step) {
      await turn.callAll(step.map((each) => ({ id: `call_${nextId()}`, ...each })));
      continue;
    }
    const submitted = turn.submit({ id: `call_${nextId()}`, ...step });
    const outcome = submitted.outcome().catch(() => undefined);
    // A held call waits for approval while the agent continues with other errands.
    if (errand.leaves !== 'held' || index < steps.length - 1) await outcome;
    else await submitted.accepted;
  }
}
