/** Sample rules for users without any. */
export const firstRules = `apiVersion: quittance/v1
kind: Ruleset
metadata: { name: first-rules }
defaults: { mode: enforce }
rules:
  - id: ask-about-large-refunds
    type: pre
    tool: refund
    when:
      args.cents: { gt: 5000, on_missing: fire }
    then:
      action: ask
      message: 'Refund {args.cents} cents?'
`;
