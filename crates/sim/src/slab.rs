//! Packets in flight, in slots that are used again. What moves between queues is the handle.

/// The slot of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handle(u32);

/// Items in slots that are used again: the slot that was freed last is taken first.
#[derive(Debug, Clone)]
pub(crate) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Stores `item`.
    #[inline]
    pub(crate) fn insert(&mut self, item: T) -> Handle {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(item);
            return Handle(slot);
        }
        self.slots.push(Some(item));
        Handle(self.slots.len() as u32 - 1)
    }

    /// The item behind `handle`; `None` where it was removed.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        self.slots.get_mut(handle.0 as usize)?.as_mut()
    }

    /// Takes the item out and frees its slot.
    #[inline]
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<T> {
        let item = self.slots.get_mut(handle.0 as usize)?.take()?;
        self.free.push(handle.0);
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again() {
        let mut slab = Slab::default();
        let (first, second) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.remove(first), Some('a'));
        assert_eq!((slab.remove(first), slab.get_mut(first)), (None, None));
        assert_eq!(slab.insert('c'), first);
        assert_eq!((slab.remove(second), slab.remove(first)), (Some('b'), Some('c')));
        assert_eq!(slab.slots.len(), 2);
    }
}
