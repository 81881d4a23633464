/** A JSON Schema as text: a line for each part of its two outer levels. The package must stay small, and changes readable. */
export const toSchemaText = (schema: object): string =>
  `${lines(schema, (value) => (typeof value === 'object' && value !== null ? lines(value, JSON.stringify) : JSON.stringify(value)))}\n`;

/** One line for each member or item. */
const lines = (value: object, toText: (member: unknown) => string): string =>
  Array.isArray(value)
    ? `[\n${value.map(toText).join(',\n')}\n]`
    : `{\n${Object.entries(value)
        .map(([name, member]) => `${JSON.stringify(name)}: ${toText(member)}`)
        .join(',\n')}\n}`;
