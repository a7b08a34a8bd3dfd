import { describe, expect, test } from 'vitest'
import type { Call } from '../../server/internal.ts'
import { createKeyring, newKey } from '../../state/seal/index.ts'
import { type ParkTicket, Tickets, type TicketSubject } from './ticket.ts'

const keyring = createKeyring(newKey())
const tickets = new Tickets({ keyring, audience: 'gateway /mcp', ttlSeconds: 60 })
const subject: TicketSubject = { server: 'files', name: 'remove', args: { path: '/a' } }
const ticket: ParkTicket = {
  owner: { id: 'first', url: 'http://127.0.0.1:8931/mcp' },
  parked: 'call',
  generation: 2,
  questions: { 'question-1': 'digest' },
  answers: [['earlier digest', { action: 'accept' }]],
  until: 1000,
}

function callOf(requestState?: unknown, more: Partial<Call> = {}): Call {
  const call = {
    method: 'tools/call',
    params: { requestState },
    peer: { session: undefined },
    principal: { id: 'ann' },
  }
  return { ...call, ...more } as unknown as Call
}

const state = tickets.seal(callOf(), subject, ticket)

test('a ticket opens for its caller and its call, with all that it was sealed with', () => {
  expect(tickets.open(callOf(state), { ...subject, args: { path: '/a' } })).toEqual(ticket)
})

// Sealed by 0.1.0 for a hundred years. Gateways of two versions stand side by side during an update.
test('a ticket that version 0.1.0 sealed opens to the same content', () => {
  const recorded =
    'AQABwojEguW7ZMrWKaII4rwljCJ_7K6_RKKxrqGqauic6rD0s54TtoGvadHbMQDSypiTKNFQcdMOZnKY8Kq5r43rYtYU01v6dkYfv9xyqrzM_DkPPo-zjF354CaVTasWqr0OjSRIz7WCvLxQVwQv6DHPupJwasbUt9eP_7bvY4kgpxPiagVuZ6kAI0cdUBkARdhV92AZeHmcojt9aTcGsh9Q4gFYkf3XZB8yU4PE1ycYjoHAQwnZ0jX1YjknZHOJsfwqDCNPkB-s1iWLnFfkkjKiNR-IqAf5HivEN3xlhLc3pFTd9pxirMQtoaoajAAkvFNj5pWu5wYT6BiFyj4lDlX0YPKdRgEvIHZroKwryV9noQpsx8bL0GFkB-SPVR29PsUP3xU'
  const recordedKeys = createKeyring('nEKBtJvtWkrTfbzJnE3kSaqSaoHzX1L07lKlYPjoIlE')
  const reading = new Tickets({ keyring: recordedKeys, audience: 'gateway /mcp', ttlSeconds: 60 })
  expect(reading.open(callOf(recorded), subject)).toEqual(ticket)
})

test('a request without a state brings no ticket', () => {
  expect(tickets.open(callOf(), subject)).toBeUndefined()
})

test('arguments that are left out are none', () => {
  const plain = tickets.seal(callOf(), { ...subject, args: undefined }, ticket)
  expect(tickets.open(callOf(plain), { ...subject, args: {} })).toEqual(ticket)
})

describe('a ticket is refused', () => {
  test.each<[string, Call, TicketSubject, string]>([
    ['for another caller', callOf(state, { principal: { id: 'bob' } }), subject, 'STATE_PRINCIPAL'],
    ['for an anonymous caller', callOf(state, { principal: undefined }), subject, 'STATE_PRINCIPAL'],
    ['in a session', callOf(state, { peer: { session: 's' } as Call['peer'] }), subject, 'STATE_SESSION'],
    ['for another method', callOf(state, { method: 'prompts/get' }), subject, 'STATE_METHOD'],
    ['for another server', callOf(state), { ...subject, server: 'mail' }, 'STATE_NAME'],
    ['for another tool', callOf(state), { ...subject, name: 'read' }, 'STATE_NAME'],
    ['for other arguments', callOf(state), { ...subject, args: { path: '/b' } }, 'STATE_ARGUMENTS'],
  ])('%s', (_, call, other, code) => {
    expect(() => tickets.open(call, other)).toThrow(expect.objectContaining({ code }))
  })

  test('on another route', () => {
    const other = new Tickets({ keyring, audience: 'gateway /mcp/files', ttlSeconds: 60 })
    expect(() => other.open(callOf(state), subject)).toThrow(expect.objectContaining({ code: 'STATE_AUDIENCE' }))
  })

  test('if it is no text', () => {
    expect(() => tickets.open(callOf(7), subject)).toThrow('"requestState" must be a string.')
  })

  test.each([{ owner: 'nobody' }, { questions: undefined }, { until: 'soon' }])('with the member %j', (member) => {
    const sealed = tickets.seal(callOf(), subject, { ...ticket, ...member } as unknown as ParkTicket)
    expect(() => tickets.open(callOf(sealed), subject)).toThrow(expect.objectContaining({ code: 'STATE_MALFORMED' }))
  })
})

test('answers above 16,000 characters stay with the owner, whatever their characters', () => {
  const answersOf = (length: number) => [['digest', { text: '\u4e16'.repeat(length) }]] as const
  const most = 16_000 - JSON.stringify(answersOf(0)).length
  const opened = (length: number) =>
    tickets.open(callOf(tickets.seal(callOf(), subject, { ...ticket, answers: answersOf(length) })), subject)?.answers
  expect(opened(most)).toEqual(answersOf(most))
  expect(opened(most + 1)).toBeUndefined()
})
