import { describe, expect, test } from 'vitest'
import {
  encodedPairs,
  filledPath,
  headerText,
  type Parameter,
  pairsOf,
  type ParameterPlace,
  Unsendable,
} from './parameters.ts'

function parameter(name: string, place: ParameterPlace, style: string, explode: boolean, isJson = false): Parameter {
  return { name, argument: name, place, style, explode, isJson }
}

const color = { R: 100, G: 200 }

// The table of styles in OpenAPI 3.1, 4.8.12.3.
test.each<[style: string, explode: boolean, value: unknown, expected: string]>([
  ['form', true, 'blue', 'color=blue'],
  ['form', true, '', 'color='],
  ['form', true, ['blue', 'black'], 'color=blue&color=black'],
  ['form', false, ['blue', 'black'], 'color=blue%2Cblack'],
  ['form', true, color, 'R=100&G=200'],
  ['form', false, color, 'color=R%2C100%2CG%2C200'],
  ['spaceDelimited', false, ['blue', 'black'], 'color=blue%20black'],
  ['pipeDelimited', false, ['blue', 'black'], 'color=blue%7Cblack'],
  ['deepObject', true, color, 'color%5BR%5D=100&color%5BG%5D=200'],
  ['deepObject', true, { a: [{ b: 1 }] }, 'color%5Ba%5D%5B0%5D%5Bb%5D=1'],
  ['form', true, 'a&b=c#d', 'color=a%26b%3Dc%23d'],
  ['form', true, [true, 1.5, null, { a: 1 }], 'color=true&color=1.5&color=null&color=%7B%22a%22%3A1%7D'],
])('a query of the style %s, explode %s, with %j', (style, explode, value, expected) => {
  expect(encodedPairs(pairsOf(parameter('color', 'query', style, explode), value))).toBe(expected)
})

test('a parameter with content is written as JSON', () => {
  expect(pairsOf(parameter('q', 'query', 'form', true, true), { a: [1] })).toEqual([['q', '{"a":[1]}']])
})

describe('a path', () => {
  test.each<[template: string, args: object, expected: string]>([
    ['/a/{x}/b', { x: 'y' }, '/a/y/b'],
    ['/a/{x}', { x: ['b/c', 'd'] }, '/a/b%2Fc,d'],
    ['/a/{x}', { x: color }, '/a/R,100,G,200'],
    ['/a/{x}', { x: '../b?c#d' }, '/a/..%2Fb%3Fc%23d'],
    ['/a/{x}', { x: '%2e%2e' }, '/a/%252e%252e'],
    ['/a/v{x}.json', { x: '..' }, '/a/v...json'],
  ])('%s with %j', (template, args, expected) => {
    expect(filledPath(template, [parameter('x', 'path', 'simple', false)], { ...args })).toBe(expected)
  })

  test.each<[template: string, args: object]>([
    ['/a/{x}', { x: '..' }],
    ['/a/{x}/b', { x: '.' }],
    ['/a/.{x}', { x: '.' }],
    ['/a/{x}', { x: '' }],
    ['/a/{x}', { x: [] }],
    ['/%2e{x}', { x: '.' }],
  ])('%s with %j is refused', (template, args) => {
    expect(() => filledPath(template, [parameter('x', 'path', 'simple', false)], { ...args })).toThrow(Unsendable)
  })
})

test.each(['a\r\nb: c', 'a\nb', 'a\0', 'ä'])('a header of %j is refused', (value) => {
  expect(() => headerText(parameter('x-a', 'header', 'simple', false), value)).toThrow(Unsendable)
})

test('a header has the style simple', () => {
  expect(headerText(parameter('x-a', 'header', 'simple', true), color)).toBe('R=100,G=200')
})
