/** Renders the page about events and their JSON Schema from their declarations. */
import type { DescribedEvent } from './event-types.ts';
import { readEventTypes } from './event-types.ts';
import { formatText } from './format-text.ts';
import { toSchemaText } from './schema-text.ts';

export async function renderEvents(): Promise<ReadonlyMap<string, string>> {
  const { events, emitted, definitions } = readEventTypes();
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'An event of a ledger',
    description:
      'As runtime.events.list, runtime.events.tail and the server give it. Fields may be added; a reader keeps types and fields it does not know.',
    anyOf: [...events.map(({ schema: one }) => one), { ...emitted.schema, description: emitted.about }],
    $defs: definitions,
  };
  return new Map([
    ['docs/events.md', await formatText('docs/events.md', page(events, emitted))],
    ['packages/quittance/schema/events.schema.json', toSchemaText(schema)],
  ]);
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function page(events: readonly DescribedEvent[], emitted: DescribedEvent): string {
  const types = [...new Set(events.map(({ type }) => type))];
  const rows = types.map((type) => {
    const about = events.filter((event) => event.type === type).map((event) => event.about);
    return `| [\`${type}\`](#${type.replaceAll(/[^a-z_]/g, '')}) | ${cell(about.join(' '))} |`;
  });
  const sections = types.map((type) => {
    const same = events.filter((event) => event.type === type);
    const [event] = same;
    return `## ${type}\n\n${same.map(({ about }) => about).join('\n\n')}\n\n${fields(event as DescribedEvent)}`;
  });
  return `<!-- Written by \`npm run docs\` from packages/quittance/src/call/event.ts. -->

# Events

The ledger stores every change as an event, and all views are computed from events. Events are ordered by session, and each has the id of its cause. \`runtime.events.list\` reads the events of a session or a call, \`runtime.events.tail\` follows all of them from any position, and [behaviors](behaviors.md) react to them.

Names never change. A type may get a new field; no field is renamed, moved or dropped, and an older version preserves what a newer one wrote. The [JSON Schema of all events](../packages/quittance/schema/events.schema.json) can be imported as \`quittance/events.schema.json\`.

Every event has \`id\`, \`type\`, \`sessionId\`, \`turnId\`, \`at\` (milliseconds since 1970, by the ledger's clock) and \`cause\` (the id of the event that caused it). Events about a call have its \`callId\`. A field that is \`undefined\` is absent from JSON. Payloads are in stored form, without redacted values.

| type | meaning |
| --- | --- |
${rows.join('\n')}

${sections.join('\n\n')}

## your.own

${emitted.about} You choose its type: words of \`a-z\`, \`0-9\` and \`_\` separated by dots, not starting with one of ours (see \`isReservedEventType\`).

${fields(emitted)}
`;
}

const fields = (event: DescribedEvent): string =>
  event.fields.length === 0
    ? 'No fields in addition to the envelope.'
    : `| field | type | |\n| --- | --- | --- |\n${event.fields
        .map(
          ({ name, type, optional, about }) =>
            `| \`${name}\`${optional ? ' (optional)' : ''} | ${cell(`\`${type}\``)} | ${cell(about)} |`,
        )
        .join('\n')}`;
