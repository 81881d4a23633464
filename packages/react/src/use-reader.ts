import { useMemo } from 'react';
import type { SourceReader, ToolCallSource } from './source-reader.ts';
import { readerOf } from './source-reader.ts';

/** The reader of the source, stable for the same source. */
export const useReader = (source: ToolCallSource | undefined): SourceReader =>
  useMemo(() => readerOf(source), [source]);
