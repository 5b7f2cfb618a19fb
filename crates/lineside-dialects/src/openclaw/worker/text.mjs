// What an error says, in text that can be sent.

export function messageOf(error) {
  try {
    const message = error instanceof Error || typeof error?.message === 'string' ? error.message : error;
    const text = typeof message === 'string' ? message : String(message);
    return text.trim() === '' ? 'unknown error' : text.slice(0, 8192);
  } catch {
    return 'unknown error';
  }
}
