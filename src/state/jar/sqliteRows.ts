/** Between the table and what it means. Names and keys are JSON strings there, for the reason in `sqliteJarFile.ts`. */
import type { SQLOutputValue } from 'node:sqlite'
import { type JarRecord, parseKept, scopeOf } from './backend.ts'
import type { JarEntry, JarKey } from './store.ts'

export type Row = Record<string, SQLOutputValue>

export function keyOf({ principal, server, context }: JarKey) {
  return {
    principal: JSON.stringify(principal),
    server: JSON.stringify(server),
    context: context === undefined ? '' : JSON.stringify(context),
  }
}

export function recordOf(row: Row): JarRecord {
  const context = row['context'] === '' ? undefined : ''
  return {
    scope: scopeOf({ context }),
    name: textIn(row, 'name'),
    text: String(row['value']),
    updatedAt: Number(row['updated_at']),
    usedAt: Number(row['used_at']),
  }
}

export function entryOf(row: Row): JarEntry {
  const context = row['context'] === '' ? undefined : textIn(row, 'context')
  return {
    principal: textIn(row, 'principal'),
    server: textIn(row, 'server'),
    context,
    scope: scopeOf({ context }),
    name: textIn(row, 'name'),
    bytes: Number(row['bytes']),
    updatedAt: Number(row['updated_at']),
    usedAt: Number(row['used_at']),
  }
}

export function itemOf(row: Row): JarEntry & { text: string } {
  return { ...entryOf(row), text: String(row['value']) }
}

function textIn(row: Row, column: string): string {
  return String(parseKept(String(row[column])))
}
