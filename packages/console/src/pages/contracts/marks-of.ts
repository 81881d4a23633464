import type { ContractsCheck } from '@quittance/server/internal/http/api/contract';
import type { LineMark } from '../../rule-editor/rule-editor.tsx';

/** Problems and warnings of one document, at their lines. */
export function marksOf(check: ContractsCheck | undefined, document: string): readonly LineMark[] {
  if (check === undefined) return [];
  return [
    ...check.problems.flatMap(({ source, line, message }): readonly LineMark[] =>
      source === document && line !== undefined ? [{ line, tone: 'bad', message }] : [],
    ),
    ...check.warnings.flatMap(({ source, line, message }): readonly LineMark[] =>
      source === document && line !== undefined ? [{ line, tone: 'attention', message }] : [],
    ),
  ];
}
