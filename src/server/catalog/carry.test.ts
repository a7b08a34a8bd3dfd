import type { InputRequest } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { memoryCarryStore } from '../../state/stores/index.ts'
import { createServer } from '../createServer.ts'
import { type Carry, CarryRules } from './carry.ts'

const form = { method: 'elicitation/create', params: { message: 'Sure?' } } as InputRequest
const url = {
  method: 'elicitation/create',
  params: { mode: 'url', message: 'Go.', url: 'https://x.example' },
} as InputRequest
const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } } as InputRequest
const roots: InputRequest = { method: 'roots/list' }
const kinds = [form, url, sampling, roots]

describe('the mode of a question', () => {
  test.each<[server: Carry | undefined, own: Carry | undefined, modes: (string | undefined)[]]>([
    [undefined, undefined, [undefined, undefined, undefined, undefined]],
    ['both', undefined, ['both', 'both', 'both', 'both']],
    ['both', 'client', ['client', 'client', 'client', 'client']],
    ['both', { sampling: 'process' }, ['both', 'both', 'process', 'both']],
    [{ form: 'store', roots: 'process' }, { form: 'client' }, ['client', undefined, undefined, 'process']],
    [{ url: 'store' }, 'both', ['both', 'both', 'both', 'both']],
  ])('is that of its entry and kind, else that of the server: %j, %j', (server, own, modes) => {
    const rules = new CarryRules(server, true)
    expect(kinds.map((kind) => rules.modeOf(kind, own))).toEqual(modes)
  })

  test.each<[carry: Carry | undefined, requests: InputRequest[], mode: string]>([
    [undefined, kinds, 'client'],
    [{ form: 'client-first', sampling: 'store' }, [form, sampling], 'store'],
    [{ form: 'client-first', sampling: 'both' }, [form, sampling], 'both'],
    [{ form: 'client-first' }, [form, roots], 'client-first'],
    [{ form: 'client-first' }, [roots], 'client'],
    [{ form: 'process' }, [form], 'client'],
    ['process', [form], 'client'],
    ['both', [], 'both'],
    [{ form: 'both' }, [], 'client'],
  ])('shared by a round is the one that relies on the store most: %j', (carry, requests, mode) => {
    expect(new CarryRules(carry, true).modeOfRound(requests, undefined)).toBe(mode)
  })
})

describe('a choice that cannot be', () => {
  const serve = (carry: unknown) => () => createServer({ name: 's', version: '1', carry: carry as Carry })
  const offer = (carry: unknown) => () =>
    createServer({ name: 's', version: '1' }).tool('t', { description: 'T.', carry: carry as Carry }, () => '')

  test.each([
    [serve('clientfirst'), "The carry option of createServer is one of 'store', 'both', 'client-first'"],
    [serve({ forms: 'client' }), 'The carry option of createServer has no option "forms"; did you mean "form"?'],
    [offer({ sampling: 'none' }), 'The carry option of the tool "t" is one of'],
    [offer({ sample: 'client' }), 'The carry option of the tool "t" has no option "sample"'],
    [offer('both'), `In the tool "t", carry: 'both' needs a store`],
    [offer({ url: 'store' }), `In the tool "t", carry: 'store' needs a store`],
    [offer(null), 'The carry option of the tool "t" is one of'],
    [serve(['client']), 'The carry option of createServer has no option "0"'],
  ])('is refused when it is made (%#)', (make, message) => {
    expect(make).toThrow(message)
  })

  test('of prompts, resources and templates is refused as well', () => {
    const server = () => createServer({ name: 's', version: '1', store: memoryCarryStore() })
    const carry = 'bth' as Carry
    expect(() => server().prompt('p', { description: 'P.', carry }, () => '')).toThrow('of the prompt "p" is one of')
    expect(() => server().resource('docs://r', { name: 'r', carry }, () => '')).toThrow('of the resource "docs://r"')
    expect(() => server().resourceTemplate('docs://{r}', { name: 'r', carry }, () => '')).toThrow(
      'template "docs://{r}"',
    )
    expect(() => server().tool('t', { description: 'T.', carry: 'both' }, () => '')).not.toThrow()
  })
})
