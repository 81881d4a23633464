/** The contracts of the demo agent. The console shows them like any contracts. */
export const demoRules = `apiVersion: edictum/v1
kind: Ruleset
metadata:
  name: demo-shop
  description: Limits for the agents of a small shop on money, mail and customers.
defaults:
  mode: enforce

# A refund can be cancelled for ten minutes. Tools that are not listed count as irreversible.
tools:
  refund: { side_effect: write }

rules:
  - id: no-large-refunds
    type: pre
    tool: refund
    when:
      args.cents: { gt: 50000, on_missing: fire }
    then:
      action: block
      message: 'Agents may not refund {args.cents} cents. Ask the office.'
      tags: [money]

  - id: ask-about-refunds
    type: pre
    tool: refund
    when:
      args.cents: { gt: 4000, on_missing: fire }
    then:
      action: ask
      message: 'Refund {args.cents} cents for order {args.order}?'
      tags: [money]

  - id: ask-about-closed-books
    type: pre
    tool: export_report
    when:
      args.month: { starts_with: '2025-', on_missing: fire }
    then:
      action: ask
      message: 'Export the closed books of {args.month}?'
      tags: [books]

  - id: internal-mail-only
    type: pre
    tool: send_mail
    when:
      not:
        # The schema requires an address.
        args.to: { ends_with: '@example.com', on_missing: skip }
    then:
      action: block
      message: 'Mail to {args.to} would leave the company.'
      tags: [mail]

  - id: watch-night-mail
    type: pre
    tool: send_mail
    mode: observe
    when:
      # Mail without a subject is fine.
      args.subject: { contains: 'urgent', on_missing: skip }
    then:
      action: ask
      message: 'A person should review urgent mail first.'
      tags: [mail]

  - id: hide-ibans
    type: post
    tool: '*'
    when:
      output.text: { matches: '\\b[A-Z]{2}[0-9]{2}( ?[0-9]{1,4}){3,8}\\b' }
    then:
      action: redact
      message: Account numbers redacted.
`;
