/** Reads the rules of a file: `deny`, `allow` and `approve` under `"gateway"`. */
import { hasClaim } from '../../server/internal.ts'
import { type ApprovalRule, type CallRule, compile } from '../rules/index.ts'
import { type Check, flag, listOf, type MemberChecks, refuse, shape, text, faultOf } from './checks.ts'

/** An expression. `${VAR}` is not replaced in it, because a value could change its meaning. */
const expression: Check<string> = (value, place) => {
  if (typeof value !== 'string') return refuse(place, 'must be a string, such as "args.amount > 100".')
  const compiled = compile(value)
  return 'fault' in compiled ? refuse(place, compiled.fault) : value
}

const callMembers: MemberChecks<CallRule> = { if: expression, reason: text(), dryRun: flag }

const approver = text((by) =>
  faultOf(() => hasClaim({ id: 'anyone' }, by)) === undefined
    ? undefined
    : 'must name approvers, such as "role:manager" or "sub:ann".',
)

const span: Check<string> = text((value) =>
  /^[1-9]\d{0,4}[smhd]$/.test(value) ? undefined : 'must be a time such as "30s", "15m", "2h" or "1d".',
)

const approvalMembers: MemberChecks<ApprovalRule> = {
  ...callMembers,
  by: (value, place) => (Array.isArray(value) ? listOf(approver)(value, place) : approver(value, place)),
  fourEyes: flag,
  for: span,
  show: listOf(text()),
}

/** A rule that is wrong anywhere is left out of the list; its problem refuses the file. */
function rules<T extends CallRule>(
  members: MemberChecks<T>,
  needed: readonly (keyof T & string)[],
): Check<readonly T[]> {
  const read = shape<T>(members, needed)
  return listOf((value, place) => read(value, place) as T | undefined)
}

export const callRules = rules<CallRule>(callMembers, ['if'])

export const approvalRules = rules<ApprovalRule>(approvalMembers, ['if', 'by'])
