/** Computed values that are remembered, and maps that hold a limited number of entries. */

/** Computes a value once for each object, and remembers it as long as the object lives. */
export function remembered<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    const found = known.get(key)
    if (found !== undefined) return found
    const value = compute(key)
    known.set(key, value)
    return value
  }
}

/** The same for texts that a peer chooses, of which only the first `max` are remembered. */
export function rememberedTexts<Value>(compute: (text: string) => Value, max: number): (text: string) => Value {
  const known = new Map<string, Value>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const value = compute(text)
    if (known.size < max) known.set(text, value)
    return value
  }
}

/** Sets the newest of at most `max` entries; the oldest are dropped. */
export function setNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key)
  for (const oldest of map.keys()) {
    if (map.size < max) break
    map.delete(oldest)
  }
  map.set(key, value)
}
