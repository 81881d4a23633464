/** What a tool, a model or a document said, on one line: nothing in it can hide, or turn the words around it. */
export { ShownText as ForeignText } from '../../../src/react/shown-text.tsx';
