import type { ReactNode } from 'react';
import { safeText } from '../../../src/base/safe-text.ts';

/** Words of ours, in which backticks mark what is typed. */
export const Prose = ({ text }: { readonly text: string }): ReactNode =>
  text
    .split(/`([^`]*)`/)
    .map((part, index) => (index % 2 === 1 ? <code key={index}>{safeText(part)}</code> : safeText(part)));
