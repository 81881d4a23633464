/** Finds the document and line of a rule, in the rules in force or in an earlier version. */
import type {
  ContractDocument,
  ContractsInForce,
  ContractsVersion,
} from '@quittance/server/internal/http/api/contract';

export type RulePlace = { readonly document: string; readonly line: number | undefined };

export const placeInForce = ({ rules }: ContractsInForce, ruleId: string): RulePlace | undefined => {
  const rule = rules.find((each) => each.ruleId === ruleId);
  return rule && { document: rule.source, line: rule.line };
};

/** The ledger keeps the texts of earlier versions, but not their rules, so the line with the id is looked up. */
export function placeInTexts(documents: readonly ContractDocument[], ruleId: string): RulePlace | undefined {
  for (const { name, text } of documents) {
    const line = text?.split('\n').findIndex((each) => idOn(each) === ruleId) ?? -1;
    if (line >= 0) return { document: name, line: line + 1 };
  }
  return undefined;
}

const idOn = (line: string): string | undefined =>
  /^\s*(?:- +)?["']?id["']?\s*:\s*["']?([^"'#]*?)["']?\s*(?:#.*)?$/.exec(line.slice(0, 500))?.[1];

export const versionAt = (
  rows: readonly ContractsVersion[] | undefined,
  policyVersion: string,
): ContractsVersion | undefined => rows?.find((row) => row.policyVersion === policyVersion);
