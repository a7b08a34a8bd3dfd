import { describe, expect, it } from 'vitest'
import { compile } from './expression.ts'
import { Rules } from './rules.ts'

const ann = {
  id: 'i|ann',
  subject: 'ann',
  scopes: ['mcp'],
  claims: { sub: 'ann', role: 'dev', groups: ['sales', 'eu'] },
}
const boss = { id: 'i|bo', subject: 'bo', claims: { roles: ['manager'] } }
const pay = { name: 'bank_pay', ownName: 'pay', listed: { name: 'bank_pay', annotations: { idempotentHint: true } } }
const read = { name: 'bank_read', ownName: 'read', listed: { name: 'bank_read', annotations: { readOnlyHint: true } } }

function call(
  rules: Rules,
  principal: typeof ann | typeof boss | 'anonymous',
  args: unknown,
  tool: typeof pay | typeof read = pay,
) {
  return rules.decide({ principal, server: 'bank', view: '', tool, args: { given: args } })
}

describe('an expression', () => {
  it.each([
    ['prinicpal.id == "x"', 'Unknown variable: prinicpal (at character 1)'],
    ['principal.role == "dev"', 'No such key: role (at character 11)'],
    ['tool.annotations.destructive', 'No such key: destructive'],
    ['args.amount >', 'Unexpected token: EOF'],
    ['server > 1', 'no such overload: string > int'],
    ['fetch(args.url)', 'found no matching overload'],
    ['args.text.matches("(a+)+$")', 'like('],
    ['server + "x"', 'of the type string'],
    ['args.a.all(a, args.b.all(b, args.c.all(c, args.d.all(d, a == d))))', 'too long'],
    ['args.a.all(a, args.b.all(b, args.c.all(c, a == b)))', 'too long'],
    ['args.a.map(a, args.a.map(b, args.a)) == args.b', 'too long'],
    [`"${'x'.repeat(2000)}" == server`, 'at most 2000 characters'],
    [doubled(20), 'too long'],
  ])('%s is refused when the file is read', (text, why) => {
    expect(compile(text)).toMatchObject({ fault: expect.stringContaining(why) as string })
  })

  it.each([
    ['"dev" in principal.roles && "sales" in principal.groups', true],
    ['principal.claims.sub == "ann" && principal.subject == "ann"', true],
    ['tool.name == "bank_pay" && tool.ownName == "pay" && server == "bank" && view == ""', true],
    ['tool.annotations.destructiveHint && !tool.annotations.readOnlyHint && tool.annotations.openWorldHint', true],
    ['tool.name.like("bank_*") && !tool.name.like("crm_*")', true],
    ['args.amount > 100', true],
    ['args.amount == 150 && args["amount"] == 150.0', true],
    ['has(args.toString) || has(args.__proto__) || "constructor" in args', false],
    ['args.items.exists(item, item.price > 5)', true],
    ['args.big > 9007199254740992', false],
    ['args.name == "é"', false],
  ])('%s is %s', (text, verdict) => {
    const rules = new Rules({ deny: [{ if: text }] })
    const args = { amount: 150, items: [{ price: 9 }], big: Number('9007199254740993'), name: 'e\u0301' }
    expect(call(rules, ann, args).outcome).toBe(verdict ? 'deny' : 'allow')
  })
})

/** A text that is doubled again and again. */
function doubled(times: number): string {
  let text = 'size(x0) > 1'
  for (let at = 0; at < times; at++) text = `cel.bind(x${at}, x${at + 1} + x${at + 1}, ${text})`
  return `cel.bind(x${times}, args.text, ${text})`
}

describe('rules', () => {
  const rules = new Rules({
    deny: [{ if: "args.amount > 100 && !('manager' in principal.roles)", reason: 'Amounts above 100 need a manager.' }],
    approve: [{ if: 'tool.annotations.destructiveHint', by: 'role:manager', fourEyes: true }],
  })

  it('deny before they ask for an approval, and name the rule and its reason', () => {
    expect(call(rules, ann, { amount: 150 })).toEqual({
      outcome: 'deny',
      rule: 'gateway.deny[0]',
      reason: 'Amounts above 100 need a manager.',
    })
    expect(call(rules, boss, { amount: 150 })).toMatchObject({
      outcome: 'approve',
      rule: 'gateway.approve[0]',
      approval: { by: 'role:manager', fourEyes: true },
    })
    expect(call(rules, ann, { amount: 5 }, read)).toEqual({ outcome: 'allow', reason: 'No rule denies this.' })
  })

  it('deny what they cannot decide, with the reason and without a value', () => {
    const decision = call(rules, ann, { sum: 'a secret' })
    expect(decision).toMatchObject({ outcome: 'deny', rule: 'gateway.deny[0]', failure: 'no_such_key' })
    expect(decision.reason).toContain('could not be decided')
    expect(JSON.stringify(decision)).not.toContain('secret')
  })

  it.each([['5'], [[5]], [5], [null]])('deny arguments that are no object: %j', (args) => {
    expect(call(rules, boss, args)).toMatchObject({ outcome: 'deny', failure: 'no_object' })
  })

  it.each(['{"constructor":1,"amount":500}', '{"__proto__":{"amount":1},"amount":500}', '{"amount":1,"amount":500}'])(
    'read the members of %s as the server does',
    (text) => {
      const args = JSON.parse(text) as object
      expect(call(rules, ann, args)).toMatchObject({ outcome: 'deny', reason: 'Amounts above 100 need a manager.' })
    },
  )

  it('need a rule that allows where there are such rules, also where there is none of them', () => {
    const readers = new Rules({
      allow: [{ if: 'tool.annotations.readOnlyHint' }, { if: "'manager' in principal.roles" }],
    })
    expect(call(readers, ann, {}, read)).toMatchObject({ outcome: 'allow', rule: 'gateway.allow[0]' })
    expect(call(readers, ann, {})).toMatchObject({ outcome: 'deny', rule: 'gateway.allow' })
    expect(call(readers, boss, {})).toMatchObject({ outcome: 'allow', rule: 'gateway.allow[1]' })
    expect(call(new Rules({ allow: [] }), boss, {})).toMatchObject({ outcome: 'deny' })
  })

  it('judge a caller without a name as one without roles', () => {
    const named = new Rules({ deny: [{ if: 'principal.id == ""' }] })
    expect(call(named, 'anonymous', {}).outcome).toBe('deny')
    expect(call(named, ann, {}).outcome).toBe('allow')
  })

  it('in a dry run decide nothing, and say what they would have decided', () => {
    const dry = new Rules({
      deny: [{ if: 'true', dryRun: true }, { if: 'args.amount > 100' }],
      allow: [{ if: 'false', dryRun: true }],
    })
    expect(call(dry, ann, { amount: 1 })).toMatchObject({
      outcome: 'allow',
      dryRun: { outcome: 'deny', rule: 'gateway.deny[0]' },
    })
    expect(call(dry, ann, { amount: 101 })).toMatchObject({ outcome: 'deny', rule: 'gateway.deny[1]' })
    const all = new Rules({ dryRun: true, allow: [] })
    expect(call(all, ann, {})).toMatchObject({ outcome: 'allow', dryRun: { outcome: 'deny' } })
  })
})

describe('with unknown arguments, rules', () => {
  const listed = (rules: Rules, tool = pay) => rules.decide({ principal: ann, server: 'bank', view: '', tool }).outcome

  it.each([
    [{ deny: [{ if: 'tool.name == "bank_pay"' }] }, 'deny'],
    [{ deny: [{ if: 'tool.name == "bank_pay" && args.amount > 1' }] }, 'depends'],
    [{ deny: [{ if: 'args.amount > 1 && tool.name == "bank_read"' }] }, 'allow'],
    [{ deny: [{ if: 'tool.annotations.destructiveHint || args.amount > 1' }] }, 'deny'],
    [{ deny: [{ if: 'principal.claims.nothing == 1' }] }, 'deny'],
    [{ allow: [{ if: 'args.amount < 10' }] }, 'depends'],
    [{ allow: [{ if: 'args.amount < 10 && server == "crm"' }] }, 'deny'],
    [{ approve: [{ if: 'true', by: 'role:manager' }] }, 'approve'],
    [{ approve: [{ if: 'has(args.amount)', by: 'role:manager' }] }, 'depends'],
  ])('%j: %s', (settings, outcome) => {
    expect(listed(new Rules(settings))).toBe(outcome)
  })

  it('decide over a prompt or a resource only where neither tool nor arguments matter', () => {
    const decide = (text: string) =>
      new Rules({ deny: [{ if: text }] }).decide({ principal: ann, server: 'bank' }).outcome
    expect(decide('server == "bank" && !("staff" in principal.groups)')).toBe('deny')
    expect(decide('server == "crm" && tool.annotations.destructiveHint')).toBe('allow')
    expect(decide('tool.annotations.destructiveHint')).toBe('depends')
  })
})

describe('the time of an evaluation', () => {
  it.each([
    'args.items.all(x, args.items.exists(y, x != y))',
    'args.items.map(x, x + 1.0).exists(y, y == 0.5)',
    'args.text.contains(args.other)',
    'args.text.split("").exists(c, c == "x")',
    'args.items == args.items.filter(x, true)',
    'args.items.exists(x, x.all(y, y == 1))',
  ])('of %s is limited for the largest arguments that it takes', (text) => {
    const expression = compile(text)
    if ('fault' in expression) throw new Error(expression.fault)
    const half = Math.floor(expression.maxInput / 2)
    const inputs = [
      { items: Array.from({ length: expression.maxInput - 8 }, (_, at) => at), text: 'a', other: 'b' },
      { items: [], text: 'a'.repeat(32 * half - 100), other: `${'a'.repeat(16 * half)}b` },
      { items: [Array.from({ length: expression.maxInput - 8 }, () => 1)], text: 'a', other: 'b' },
    ]
    for (const args of inputs) {
      const startedAt = performance.now()
      expression.evaluate({ server: 'bank', args })
      expect(performance.now() - startedAt).toBeLessThan(250)
    }
  })

  it('is none for larger ones: the call is denied', () => {
    const rules = new Rules({ deny: [{ if: 'args.items.exists(x, x > 5)' }] })
    const items = Array.from({ length: 400_000 }, () => 1)
    expect(call(rules, ann, { items })).toMatchObject({ outcome: 'deny', failure: 'too_large' })
    expect(call(rules, ann, { items: items.slice(0, 3000) })).toMatchObject({ outcome: 'allow' })
  })
})
