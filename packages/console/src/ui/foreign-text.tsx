/**
 * Text from a tool, a model or a document, on one line. It cannot hide characters or reorder the text around it.
 * `ForeignId` shows ids and tool names, masked if they look like secrets.
 */
export { ShownId as ForeignId, ShownText as ForeignText } from '@quittance/react/src/shown-text.tsx';
