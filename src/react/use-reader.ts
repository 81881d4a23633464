import { useMemo } from 'react';
import type { SourceReader, ToolCallSource } from './source-reader.ts';
import { readerOf } from './source-reader.ts';

/** The reader of the source, for as long as it is the same source. */
export const useReader = (source: ToolCallSource | undefined): SourceReader =>
  useMemo(() => readerOf(source), [source]);
