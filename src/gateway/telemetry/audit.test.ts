import { expect, test } from 'vitest'
import type { AuditEntry } from '../../audit/index.ts'
import type { Call } from '../../server/internal.ts'
import { type AuditSubject, CallAudit } from './audit.ts'

const call = { id: 1, method: 'tools/call', params: {}, principal: undefined, peer: {} } as unknown as Call
const target = { server: 's', name: 't', isListed: true }
const end = { outcome: 'complete', error: undefined, ms: 1 } as const

function deep(levels: number): Record<string, unknown> {
  let value: Record<string, unknown> = {}
  for (let level = 0; level < levels; level++) value = { value }
  return value
}

test.each([
  ['a number that is too large for JSON', { a: Infinity }],
  ['values that are nested too deep', deep(1000)],
])('a call with %s is recorded', (_, args) => {
  const written: AuditEntry[] = []
  const audit = new CallAudit({ write: (entry) => void written.push(entry), close() {} }, { arguments: 'digest' })
  const subject: AuditSubject = { call, route: '/mcp', target, args }
  audit.ended(subject, end)
  expect(written).toMatchObject([{ kind: 'call', argumentsDigest: expect.any(String) as string, outcome: 'complete' }])
})
