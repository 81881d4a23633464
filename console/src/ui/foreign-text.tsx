import type { ReactNode } from 'react';
import { safeText } from '../../../src/base/safe-text.ts';

/** What a tool, a model or a document said, on one line: nothing in it can hide, or turn the words around it. */
export const ForeignText = ({ text }: { readonly text: string }): ReactNode => <bdi>{safeText(text)}</bdi>;
