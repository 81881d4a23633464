import type { ReactNode } from 'react';
import { ForeignText } from './foreign-text.tsx';

/** Our own text; backticks mark code. */
export const Prose = ({ text }: { readonly text: string }): ReactNode =>
  text.split(/`([^`]*)`/).map((part, index) =>
    index % 2 === 1 ? (
      <code key={index}>
        <ForeignText text={part} />
      </code>
    ) : (
      <ForeignText key={index} text={part} />
    ),
  );
