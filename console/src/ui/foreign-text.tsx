/**
 * What a tool, a model or a document said, on one line: nothing in it can hide, or turn the words around it. Ids and
 * names of tools are drawn with `ForeignId`, and masked where they look like secrets.
 */
export { ShownId as ForeignId, ShownText as ForeignText } from '../../../src/react/shown-text.tsx';
