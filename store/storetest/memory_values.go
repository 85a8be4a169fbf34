package storetest

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"slackrelay/store"
	"slackrelay/store/memory"
)

// memoryData is all that a store in memory contains. It is read and replaced by reflection.
type memoryData struct{ store *memory.Data }

// values is the map that the store keeps everything in.
func (d memoryData) values() reflect.Value {
	return exposed(reflect.ValueOf(d.store).Elem().FieldByName("values"))
}

func (d memoryData) save(testing.TB) func() {
	saved := deepCopy(d.values(), map[unsafe.Pointer]reflect.Value{})
	return func() { d.values().Set(saved) }
}

func (d memoryData) all(testing.TB) any {
	all := deepCopy(d.values(), map[unsafe.Pointer]reflect.Value{})
	for _, key := range all.MapKeys() {
		if strings.Contains(key.String(), ":lease:") {
			all.SetMapIndex(key, reflect.Value{})
		}
	}
	return all.Interface()
}

// exposed is a field that may be read and set although it is not exported.
func exposed(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}

// deepCopy copies what hangs together, pointers to the same thing as pointers to the same copy.
func deepCopy(v reflect.Value, seen map[unsafe.Pointer]reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		if known, ok := seen[v.UnsafePointer()]; ok {
			return known
		}
		twin := reflect.New(v.Type().Elem())
		seen[v.UnsafePointer()] = twin
		twin.Elem().Set(deepCopy(v.Elem(), seen))
		return twin
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		return deepCopy(v.Elem(), seen)
	case reflect.Struct:
		return copyStruct(v, seen)
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		twin := reflect.MakeMap(v.Type())
		for each := v.MapRange(); each.Next(); {
			twin.SetMapIndex(each.Key(), deepCopy(each.Value(), seen))
		}
		return twin
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		twin := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			twin.Index(i).Set(deepCopy(v.Index(i), seen))
		}
		return twin
	default:
		return v
	}
}

func (d memoryData) queued(_ testing.TB, entry store.Entry) bool {
	return d.store.Queued(Scope, entry)
}

func copyStruct(v reflect.Value, seen map[unsafe.Pointer]reflect.Value) reflect.Value {
	twin := reflect.New(v.Type()).Elem()
	twin.Set(v)
	if v.Type() == reflect.TypeFor[time.Time]() {
		return twin
	}
	for i := range v.NumField() {
		field := exposed(twin.Field(i))
		field.Set(deepCopy(field, seen))
	}
	return twin
}
