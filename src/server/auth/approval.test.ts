import { describe, expect, test } from 'vitest'
import { Approval, hasClaim } from './approval.ts'
import type { Principal } from './authenticator.ts'

const mia: Principal = {
  id: '["https://login.example.com","mia"]',
  subject: 'mia',
  scopes: ['mcp', 'approve'],
  claims: { roles: ['clerk', 'manager'], group: 'sales', department: 'a:b', level: 7, realm: { roles: ['king'] } },
}

test.each<[by: string, fits: boolean]>([
  ['role:manager', true],
  ['role:Manager', false],
  ['role:manage', false],
  ['role:king', false],
  ['roles:manager', true],
  ['group:sales', true],
  ['groups:sales', false],
  ['scope:approve', true],
  ['scope:mcp approve', false],
  ['sub:mia', true],
  ['sub:max', false],
  ['id:["https://login.example.com","mia"]', true],
  ['department:a:b', true],
  ['level:7', false],
  ['constructor:Object', false],
  ['__proto__:x', false],
])('%s fits Mia: %s', (by, fits) => {
  expect(hasClaim(mia, by)).toBe(fits)
})

test.each(['manager', ':manager', 'role:', ''])('%j names nobody, which is a mistake', (by) => {
  expect(() => hasClaim(mia, by)).toThrow(/is not an approver/)
})

describe('approval', () => {
  const by = ['role:director', 'role:manager']

  test('needs one of those that are named, and with four eyes another one than the caller', () => {
    const approval = new Approval()
    expect(approval.includes({ by, fourEyes: false }, mia, true)).toBe(true)
    expect(approval.includes({ by, fourEyes: true }, mia, true)).toBe(false)
    expect(approval.includes({ by, fourEyes: true }, mia, false)).toBe(true)
    expect(approval.includes({ by: ['role:director'], fourEyes: false }, mia, false)).toBe(false)
    expect(approval.includes({ by, fourEyes: false }, undefined, false)).toBe(false)
    expect(approval.includes({ by, fourEyes: false }, { id: 'mia' }, false)).toBe(false)
  })

  test('takes no promise for a yes', () => {
    const approval = new Approval((() => Promise.resolve(false)) as never)
    expect(() => approval.includes({ by, fourEyes: false }, mia, false)).toThrow(/not a promise/)
  })
})
