import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { firstMembers, lastMember, membersOf, withMember, withoutMember } from './jsonMember.ts'

const value = (text: string, name: string): string | undefined => {
  const member = membersOf(text)?.findLast((each) => each.name === name)
  return member && text.slice(member.valueFrom, member.to)
}

test.each([
  ['{"state":"x"}', '"x"'],
  ['{"id":1,"state":12345678901234567890}', '12345678901234567890'],
  ['{ "state" : { "b":1, "a" : [1.0, "}\\"]"] } , "id":2 }', '{ "b":1, "a" : [1.0, "}\\"]"] }'],
  ['{"state":null,"x":{"state":1}}', 'null'],
  ['{"st\\u0061te":true}', 'true'],
  ['{"state":1,"state":2}', '2'],
  ['{"a":"\\\\","state":"\\\\\\""}', '"\\\\\\""'],
  ['{"a":"\\"state\\":1"}', undefined],
])('%s', (text, expected) => expect(value(text, 'state')).toBe(expected))

test.each([
  '',
  '[]',
  '"{"',
  '{',
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":1,',
  '{"a" 1}',
  '{"a":}',
  '{"a":"b',
  '{"a":[1}',
  '{"a":1}}',
  '{"\\q":1}',
  'null',
])('what is no whole object has no members: %s', (text) => expect(membersOf(text)).toBeUndefined())

test.each([
  ['{"a":1,"b":"x","c":[1,2', ['a', 'b']],
  ['{"a":1,"b":12', ['a']],
  ['{"a":{"c":1},"b', ['a']],
  ['{ "a" : 1 }', ['a']],
  ['"a":1}', []],
])('an object that is cut begins with whole members: %s', (text, names) =>
  expect(firstMembers(text).map(({ name }) => name)).toEqual(names),
)

test.each([
  ['…]},"jsonrpc":"2.0","id":12}', '12'],
  ['…"} , "id" : "q-1" , "jsonrpc":"2.0" } ', '"q-1"'],
  ['…,"id":1,"id":2}', '2'],
  ['…,"id":1}}', undefined],
  ['…,"id":1},"x":2}', undefined],
  ['…,"id":1', undefined],
  ['…,"id":[1]}', undefined],
])('an object that is cut ends with the member of this name: %s', (text, expected) =>
  expect(lastMember(text, 'id')).toBe(expected),
)

describe('for any object', () => {
  const anyObject = fc.dictionary(fc.string(), fc.jsonValue())

  test('members are found where they are', () => {
    fc.assert(
      fc.property(anyObject, fc.constantFrom(0, 2), (object, indent) => {
        const text = JSON.stringify(object, null, indent)
        const found = membersOf(text)?.map(({ name, valueFrom, to }) => [name, JSON.parse(text.slice(valueFrom, to))])
        expect(found).toEqual(Object.entries(JSON.parse(text) as object))
      }),
    )
  })

  test('a member that is taken out leaves the others, and can be put back', () => {
    fc.assert(
      fc.property(anyObject, fc.nat(), (object, pick) => {
        const text = JSON.stringify(object)
        const members = membersOf(text) ?? []
        const index = pick % Math.max(members.length, 1)
        const member = members[index]
        if (member === undefined) return
        const rest = withoutMember(text, members, member.name)
        const { [member.name]: _, ...others } = JSON.parse(text) as Record<string, unknown>
        expect(JSON.parse(rest)).toEqual(others)
        if (members.length < 2) return
        const again = withMember(rest, member.name, text.slice(member.valueFrom, member.to))
        expect(JSON.parse(again)).toEqual(JSON.parse(text))
      }),
    )
  })
})
