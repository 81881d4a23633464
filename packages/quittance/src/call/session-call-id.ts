/**
 * The id of a call in its session. Providers guarantee unique ids at best within one answer of a model, and
 * some restart from 0 with every answer. `earlier` is the number of earlier assistant messages with the same
 * provider id. Any process that has the conversation therefore derives the same id.
 */
export const sessionCallId = (id: string, earlier: number): string =>
  earlier === 0 ? id : `${id}~${earlier + 1}`;
