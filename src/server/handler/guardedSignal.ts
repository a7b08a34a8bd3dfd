/**
 * The signal of a handler. It is aborted when a client disconnects, so a listener that fails then would let a client end
 * the process: its error would be thrown outside of any handler. Here it goes to `onError`.
 */
type AbortListener = (this: AbortSignal, event: Event) => unknown

export function guardListeners(signal: AbortSignal, onError: (error: unknown) => void): AbortSignal {
  const guarded = new WeakMap<object, (event: Event) => void>()

  const guard = (listener: AbortListener): ((event: Event) => void) => {
    const known = guarded.get(listener)
    if (known !== undefined) return known
    const safe = (event: Event): void => {
      try {
        const result = listener.call(signal, event)
        if (result instanceof Promise) result.catch(onError)
      } catch (error) {
        onError(error)
      }
    }
    guarded.set(listener, safe)
    return safe
  }

  const { addEventListener, removeEventListener } = AbortSignal.prototype
  const guardedOr = (listener: unknown) =>
    typeof listener === 'function' ? guard(listener as AbortListener) : listener
  return Object.defineProperties(signal, {
    addEventListener: {
      value: (type: string, listener: unknown, options?: AddEventListenerOptions | boolean) =>
        addEventListener.call(signal, type, guardedOr(listener) as EventListener, options),
    },
    removeEventListener: {
      value: (type: string, listener: unknown, options?: EventListenerOptions | boolean) =>
        removeEventListener.call(signal, type, guardedOr(listener) as EventListener, options),
    },
  })
}
