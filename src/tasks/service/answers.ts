/**
 * Sorts the answers of a client. Malformed answers are refused here, before any handler runs; the run then validates the
 * others against the handler's own schema.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { answersInShape, isObject, type Json } from '../../protocol/index.ts'
import type { TaskAnswers } from '../engine.ts'

export function sortAnswers(questions: ReadonlyMap<string, InputRequest>, responses: Json): TaskAnswers {
  const accepted = new Map<string, Json>()
  const refused = new Set<string>()
  for (const [key, request] of questions) {
    if (!Object.hasOwn(responses, key)) continue
    const response = responses[key]
    if (answersInShape(request, response) && fitsForm(request, response)) accepted.set(key, response)
    else refused.add(key)
  }
  return { accepted, refused }
}

/** Whether an accepted form has its required fields, and every field the right type. */
function fitsForm(request: InputRequest, { action, content }: Json): boolean {
  if (request.method !== 'elicitation/create' || request.params.mode === 'url' || action !== 'accept') return true
  if (!isObject(content)) return false
  // A handler in explicit style writes its requests itself and may omit optional members.
  const { properties = {}, required = [] } = (request.params.requestedSchema ?? {}) as Partial<FormSchema>
  const hasRequired = required.every((name) => Object.hasOwn(content, name))
  return hasRequired && Object.entries(properties).every(([name, field]) => fitsField(field, ownMember(content, name)))
}

interface FormSchema {
  readonly properties: Json
  readonly required: readonly string[]
}

function fitsField(field: unknown, value: unknown): boolean {
  if (value === undefined || !isObject(field)) return true
  switch (field['type']) {
    case 'string':
      return typeof value === 'string' && isChoice(field, value)
    case 'number':
      return typeof value === 'number'
    case 'integer':
      return Number.isInteger(value)
    case 'boolean':
      return typeof value === 'boolean'
    case 'array':
      return Array.isArray(value)
    default:
      return true
  }
}

function isChoice({ enum: choices }: Json, value: string): boolean {
  return !Array.isArray(choices) || choices.includes(value)
}

function ownMember(content: Json, name: string): unknown {
  return Object.hasOwn(content, name) ? content[name] : undefined
}
